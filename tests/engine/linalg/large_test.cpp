// Decompositions from the sizes on where svd() ends its Jacobi by matrix products and eigh() divides and conquers; once
// per instruction set.
#include <algorithm>
#include <functional>

#include "engine/context.h"
#include "engine/linalg/eigh.h"
#include "engine/linalg/qr.h"
#include "engine/linalg/svd.h"
#include "engine/parallel.h"
#include "tests/engine/linalg/matrices.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace linalg = headroom::engine::linalg;
using headroom::engine::matmul;
using linalg::SvdMethod;
using namespace headroom::testing;

namespace {

constexpr double eps = 0x1p-52;

/// n values from f(i / (n - 1)), falling.
std::vector<double> spectrum(int64_t n, const std::function<double(double)>& f) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(f(static_cast<double>(i) / static_cast<double>(n - 1)));
  std::sort(out.rbegin(), out.rend());
  return out;
}

struct Named {
  const char* name;
  std::vector<double> values;
};
/// Spectra that are easy and hard to tell apart; those of a symmetric matrix may be below zero.
std::vector<Named> spectra(int64_t n, bool is_symmetric) {
  std::vector<Named> out = {
      {"even", spectrum(n, [](double t) { return 1 + t; })},
      {"graded", spectrum(n, [](double t) { return std::pow(10, -12 * t); })},
      {"all equal", spectrum(n, [](double) { return 3; })},
      {"three clusters", spectrum(n, [](double t) { return t < 0.3   ? 1
                                                           : t < 0.6 ? 2 + 1e-13 * t
                                                                     : 5; })},
      {"two near clusters", spectrum(n, [](double t) { return t < 0.5 ? 1 : 1 + 1e-9 * t; })},
      {"low rank", spectrum(n, [](double t) { return t < 0.8 ? 0 : t; })},
      {"one large", spectrum(n, [](double t) { return t == 0 ? 1 : 1e-9; })},
      {"tiny", spectrum(n, [](double t) { return 1e-200 * (1 + t); })},
      {"huge", spectrum(n, [](double t) { return 1e+200 * (1 + t); })}};
  if (is_symmetric) {
    out.push_back({"both signs", spectrum(n, [](double t) { return t - 0.4; })});
    out.push_back({"below zero", spectrum(n, [](double t) { return -1 - t; })});
    out.push_back({"opposite clusters", spectrum(n, [](double t) { return t < 0.5 ? -1 : 1; })});
  }
  return out;
}

/// (m, n) with orthonormal columns.
Tensor orthonormal(int64_t m, int64_t n, uint64_t seed) { return linalg::qr(random_matrix({m, n}, seed)).q; }

Tensor vector_of(const std::vector<double>& values) {
  return Tensor::from<double>({static_cast<int64_t>(values.size())}, values);
}

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// Residual, orthogonality and values, in units of eps·n of the largest value; sweeps of rotations add up to more in V.
void check_svd(const Tensor& a, SvdMethod method, const std::vector<double>* wanted = nullptr) {
  const auto [u, s, vt] = linalg::svd(a, method);
  const std::vector<double> values = s.to_vector<double>();
  const double unit = eps * static_cast<double>(std::max(a.dim(0), a.dim(1))), size = largest_of(values);
  CAPTURE(a.str(), static_cast<int>(method));
  CHECK(distance(matmul(scaled_columns(u, s), vt), a) <= unit * size);
  CHECK(defect(u) <= unit);
  CHECK(defect(vt.transpose(0, 1)) <= 3 * unit);
  CHECK(std::is_sorted(values.rbegin(), values.rend()));
  CHECK(values.back() >= 0);
  CHECK(distance(linalg::singular_values(a, method), s) <= unit * size);
  if (wanted) CHECK(distance(s, vector_of(*wanted)) <= unit * size);
}

void check_eigh(const Tensor& a, const std::vector<double>* wanted = nullptr) {
  const auto [values, vectors] = linalg::eigh(a);
  std::vector<double> found = values.to_vector<double>();
  const double unit = eps * static_cast<double>(a.dim(0)), size = largest_of(found);
  CHECK(distance(matmul(a, vectors), scaled_columns(vectors, values)) <= unit * size);
  CHECK(defect(vectors) <= unit);
  CHECK(std::is_sorted(found.begin(), found.end()));
  if (!wanted) return;
  std::reverse(found.begin(), found.end());
  CHECK(distance(vector_of(found), vector_of(*wanted)) <= unit * size);
}

/// Q·diag(values)·Qᵀ, symmetric to the last bit.
Tensor symmetric_of(const std::vector<double>& values) {
  const auto n = static_cast<int64_t>(values.size());
  const Tensor q = orthonormal(n, n, 41);
  const Tensor a = matmul(scaled_columns(q, vector_of(values)), q, false, true);
  std::vector<double> x = a.to_vector<double>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) x[static_cast<size_t>(i * n + j)] = x[static_cast<size_t>(j * n + i)];
  return Tensor::from<double>({n, n}, x);
}

/// Symmetric (n, n) with these two diagonals.
Tensor tridiagonal(int64_t n, const std::function<double(int64_t)>& diagonal, double below) {
  const Tensor out = Tensor::zeros({n, n}, DType::f64);
  auto* x = out.mutable_data<double>();
  for (int64_t i = 0; i < n; ++i) {
    x[i * n + i] = diagonal(i);
    if (i > 0) x[i * n + i - 1] = x[(i - 1) * n + i] = below;
  }
  return out;
}

}  // namespace

TEST_CASE("large svd: known spectra, square, tall and wide") {
  if (!isa_available()) return skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{180, 180}, {400, 150}, {150, 400}}) {
    const int64_t k = std::min(m, n);
    const Tensor u = orthonormal(m, k, 42), v = orthonormal(n, k, 43);
    for (const Named& each : spectra(k, false)) {
      CAPTURE(each.name);
      const Tensor a = matmul(scaled_columns(u, vector_of(each.values)), v, false, true);
      for (const SvdMethod method : {SvdMethod::accurate, SvdMethod::fast}) check_svd(a, method, &each.values);
    }
  }
  check_svd(random_matrix({600, 590}, 44), SvdMethod::accurate);
  check_svd(Tensor::zeros({200, 200}, DType::f64), SvdMethod::accurate);
}

TEST_CASE("large svd: accurate keeps the small values of scaled rows and columns") {
  if (!isa_available()) return skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const int64_t n = 160;
  for (const double last : {1.0, 1e-3, 1e-6, 1e-12}) {
    const Tensor grades = vector_of(spectrum(n, [last](double t) { return std::pow(last, t); }));
    const Tensor columns = scaled_columns(random_matrix({n, n}, 45), grades);
    const std::vector<double> wanted = reference_values(columns);
    for (const Tensor& a : {columns, columns.transpose(0, 1)}) {
      CHECK(worst_relative(linalg::svd(a).s.to_vector<double>(), wanted) < 1e-12);
      check_svd(a, SvdMethod::accurate);
    }
  }
  // Sylvester's H (entries ±1, HᵀH = n·I) with columns times powers of two: values that are known, each of them often.
  for (const int64_t size : {256, 1024}) {
    std::vector<double> columns(static_cast<size_t>(size * size)), wanted(static_cast<size_t>(size));
    const auto exponent = [](int64_t j) { return static_cast<int>(-(j * 29 % 41)); };
    for (int64_t i = 0; i < size * size; ++i)
      columns[static_cast<size_t>(i)] = std::scalbn(
          __builtin_parity(static_cast<unsigned>(i / size & i % size)) != 0 ? -1.0 : 1.0, exponent(i % size));
    for (int64_t j = 0; j < size; ++j)
      wanted[static_cast<size_t>(j)] = std::scalbn(std::sqrt(static_cast<double>(size)), exponent(j));
    std::sort(wanted.rbegin(), wanted.rend());
    const Tensor a = Tensor::from<double>({size, size}, columns);
    CHECK(worst_relative(linalg::singular_values(a).to_vector<double>(), wanted) < 1e-13);
    if (size == 256) CHECK(worst_relative(linalg::svd(a.transpose(0, 1)).s.to_vector<double>(), wanted) < 1e-13);
  }
}

TEST_CASE("large eigh: known spectra") {
  if (!isa_available()) return skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const Named& each : spectra(280, true)) {
    CAPTURE(each.name);
    check_eigh(symmetric_of(each.values), &each.values);
  }
  check_eigh(Tensor::zeros({300, 300}, DType::f64));
  const int64_t n = 301;
  const double turn = 3.14159265358979323846 / static_cast<double>(n + 1);
  std::vector<double> differences;
  for (int64_t i = n; i > 0; --i) differences.push_back(2 - 2 * std::cos(turn * static_cast<double>(i)));
  check_eigh(tridiagonal(
                 n, [](int64_t) { return 2; }, -1),
             &differences);
  // Wilkinson's: pairs of values that agree to all digits and more.
  check_eigh(tridiagonal(
      n, [](int64_t i) { return std::abs(static_cast<double>(i) - 150); }, 1));
  // Diagonal already, and two blocks that do not touch.
  check_eigh(tridiagonal(
      n, [](int64_t i) { return static_cast<double>(i % 7); }, 0));
  Tensor holed = Tensor::full({300, 300}, 1, DType::f64);
  holed.mutable_data<double>()[4 * 300 + 7] = NAN;
  CHECK_THAT(error_of([&] { linalg::eigh(holed); }), contains("eigh: a holds nan at (4, 7)"));
}

TEST_CASE("large decompositions have the same bits on any number of threads") {
  if (!isa_available()) return skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const Tensor a = random_matrix({200, 200}, 46), b = random_matrix({590, 580}, 47),
               c = symmetric_of(spectrum(280, [](double t) { return t < 0.5 ? 1 : t; }));
  const auto bits = [&](int threads) {
    const headroom::engine::ThreadScope scope(threads);
    const auto [u, s, vt] = linalg::svd(a);
    const auto [values, vectors] = linalg::eigh(c);
    std::vector<double> out;
    for (const Tensor& each : {u, s, vt, values, vectors, linalg::singular_values(b)})
      for (double x : each.to_vector<double>()) out.push_back(x);
    return out;
  };
  CHECK(bits(1) == bits(3));
}
