#include "tasks/theory/rope_errors.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/linalg/svd.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/matmul/matmul.h"
#include "tasks/theory/low_rank_logits.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using engine::matmul;
using engine::sub;
using engine::Tensor;
namespace linalg = engine::linalg;

/// The two coordinates of pair i.
std::pair<int64_t, int64_t> pair_of(int64_t i, int64_t dim, Pairing pairing) {
  if (pairing == Pairing::interleaved) return {2 * i, 2 * i + 1};
  return {i, i + dim / 2};
}

/// W = u · diag(s) · vtᵀ as left = u·diag(s) (d, d), and coordinates vt·X of the tokens.
struct Factor {
  Tensor scaled;               ///< diag(s) uᵀ (d, d)
  std::vector<double> values;  ///< s
  Tensor tokens;               ///< (d, L)
};

Factor factor_of(const Tensor& w, const Tensor& tokens) {
  const linalg::SVD svd = linalg::svd(w);
  Factor factor{svd.u.transpose(0, 1).clone(), svd.s.to_vector<double>(), matmul(svd.vt, tokens)};
  const int64_t dim = factor.scaled.dim(0);
  auto* data = factor.scaled.mutable_data<double>();
  for (int64_t i = 0; i < dim * dim; ++i) data[i] *= factor.values[static_cast<size_t>(i / dim)];
  return factor;
}

/// The leading r × r block, the rest zero.
Tensor leading(const Tensor& a, int64_t rank) {
  Tensor out = Tensor::zeros(a.shape(), DType::f64);
  const int64_t n = a.dim(1);
  for (int64_t i = 0; i < rank; ++i) std::copy_n(a.data<double>() + i * n, rank, out.mutable_data<double>() + i * n);
  return out;
}

/// Diagonal (d, d): 1 on the coordinates of the `count` pairs whose maps are largest.
Tensor kept_pairs(const HeadMaps& maps, int64_t count, Pairing pairing) {
  const int64_t dim = maps.wq.dim(0), width = maps.wq.dim(1);
  std::vector<double> size(static_cast<size_t>(dim / 2));
  const auto square = [&](const Tensor& w, int64_t row) {
    const double* x = w.data<double>() + row * width;
    return std::inner_product(x, x + width, x, 0.0);
  };
  for (int64_t i = 0; i < dim / 2; ++i) {
    const auto [a, b] = pair_of(i, dim, pairing);
    size[static_cast<size_t>(i)] =
        (square(maps.wq, a) + square(maps.wq, b)) * (square(maps.wk, a) + square(maps.wk, b));
  }
  std::vector<int64_t> order(size.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return size[static_cast<size_t>(a)] > size[static_cast<size_t>(b)]; });
  Tensor keep = Tensor::zeros({dim, dim}, DType::f64);
  for (int64_t i = 0; i < count; ++i) {
    const auto [a, b] = pair_of(order[static_cast<size_t>(i)], dim, pairing);
    keep.mutable_data<double>()[a * dim + a] = keep.mutable_data<double>()[b * dim + b] = 1;
  }
  return keep;
}

/// base^{−2i/d}.
std::vector<double> frequencies_of(int64_t dim, double base) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < dim / 2; ++i)
    frequencies.push_back(std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(dim)));
  return frequencies;
}

/// The frequencies of a head of width `dim`, from a wider one's: at the same relative places, linear in logarithms
/// between two.
std::vector<double> narrowed(const std::vector<double>& wide, int64_t dim) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < dim / 2; ++i) {
    const double place = static_cast<double>(i) * static_cast<double>(wide.size()) / static_cast<double>(dim / 2);
    const auto below = static_cast<size_t>(place);
    const double low = std::log(wide[below]), high = std::log(wide[std::min(below + 1, wide.size() - 1)]);
    frequencies.push_back(std::exp(low + (place - static_cast<double>(below)) * (high - low)));
  }
  return frequencies;
}

double bilinear(const Tensor& m, const Tensor& a, int64_t column_a, const Tensor& b, int64_t column_b) {
  const int64_t dim = m.dim(0), la = a.dim(1), lb = b.dim(1);
  double sum = 0;
  for (int64_t i = 0; i < dim; ++i) {
    double row = 0;
    for (int64_t j = 0; j < dim; ++j) row += m.data<double>()[i * dim + j] * b.data<double>()[j * lb + column_b];
    sum += a.data<double>()[i * la + column_a] * row;
  }
  return sum;
}

void check(const HeadMaps& maps, const Tensor& tokens, int64_t rank) {
  require(maps.wq.rank() == 2 && maps.wq.shape() == maps.wk.shape() && maps.wq.dim(0) <= maps.wq.dim(1) &&
              maps.wq.dim(0) % 2 == 0,
          "rope errors: wq {} and wk {} must be (d_H, D), d_H even and <= D", maps.wq.str(), maps.wk.str());
  require(rank >= 1 && rank < maps.wq.dim(0), "rope errors: rank {}: expected 1 <= rank < d_H = {}", rank,
          maps.wq.dim(0));
  require(tokens.rank() == 2 && tokens.dim(0) == maps.wq.dim(1) && tokens.dim(1) >= 1,
          "rope errors: tokens {} must be (D = {}, L)", tokens.str(), maps.wq.dim(1));
  require_finite("rope errors: wq", maps.wq);
  require_finite("rope errors: wk", maps.wk);
  require_finite("rope errors: tokens", tokens);
  require(maps.rope_frequencies.empty() || 2 * std::ssize(maps.rope_frequencies) == maps.wq.dim(0),
          "rope errors: {} frequencies, a head of width {} needs half as many", maps.rope_frequencies.size(),
          maps.wq.dim(0));
}

}  // namespace

Tensor rotation(int64_t dim, int64_t position, Pairing pairing, double base) {
  require(dim >= 2 && dim % 2 == 0, "rotation: the width {} must be even", dim);
  require(base > 0 && std::isfinite(base), "rotation: the base {} must be > 0", base);
  return rotation(frequencies_of(dim, base), position, pairing);
}

Tensor rotation(const std::vector<double>& frequencies, int64_t position, Pairing pairing) {
  const int64_t dim = 2 * std::ssize(frequencies);
  require(dim >= 2, "rotation: there are no frequencies");
  Tensor r = Tensor::zeros({dim, dim}, DType::f64);
  auto* data = r.mutable_data<double>();
  for (int64_t i = 0; i < dim / 2; ++i) {
    const double angle = static_cast<double>(position) * frequencies[static_cast<size_t>(i)];
    const auto [a, b] = pair_of(i, dim, pairing);
    data[a * dim + a] = data[b * dim + b] = std::cos(angle);
    data[a * dim + b] = -std::sin(angle);
    data[b * dim + a] = std::sin(angle);
  }
  return r;
}

RopeErrors rope_errors(const HeadMaps& maps, const Tensor& tokens, int64_t rank, Pairing pairing, double base) {
  check(maps, tokens, rank);
  const engine::ReferenceScope truth;  // what the bound is held against
  const int64_t dim = maps.wq.dim(0), length = tokens.dim(1);
  const Factor q = factor_of(maps.wq, tokens), k = factor_of(maps.wk, tokens);
  const auto next = static_cast<size_t>(rank);
  RopeErrors errors;
  errors.bound = q.values[0] * k.values[next] + q.values[next] * k.values[0];
  const std::vector<double> norms = token_norms(tokens);
  const double largest = std::pow(*std::max_element(norms.begin(), norms.end()), 2);  // B²
  errors.logit_bound = largest * errors.bound;
  // Everything in the coordinates of the right singular vectors, which are orthonormal: d × d in place of D × D.
  const auto core = [&](const Tensor& middle) {
    return matmul(matmul(q.scaled, middle), k.scaled, false, true);  // (d, d)
  };
  const std::vector<double>& own = maps.rope_frequencies;
  const std::vector<double> wide = own.empty() ? frequencies_of(dim, base) : own;
  const std::vector<double> narrow_ones = own.empty() ? frequencies_of(rank, base) : narrowed(own, rank);
  const Tensor kept = kept_pairs(maps, rank / 2, pairing);
  const linalg::SVD svd = linalg::svd(core(rotation(wide, 0, pairing)));
  const Tensor mixed_q = balanced(svd.u, svd.s, rank);  // (d, r)
  const Tensor mixed_k = balanced(svd.vt.transpose(0, 1).contiguous(), svd.s, rank);
  for (int64_t offset = 1 - length; offset < length; ++offset) {
    engine::check_stopped();
    const Tensor turn = rotation(wide, offset, pairing);
    const Tensor full = core(turn), low = leading(full, rank), rest = sub(full, low);
    errors.spectral = std::max(errors.spectral, spectral_norm(rest));
    errors.least = std::max(errors.least, linalg::singular_values(full).data<double>()[rank]);
    const std::vector<double> values = linalg::singular_values(low).to_vector<double>();
    errors.rank = std::max<int64_t>(
        errors.rank, std::count_if(values.begin(), values.end(), [&](double v) { return v > 1e-12 * values[0]; }));
    for (int64_t l = std::max<int64_t>(0, -offset); l < length && l + offset < length; ++l)
      errors.logit = std::max(errors.logit, std::abs(bilinear(rest, q.tokens, l, k.tokens, l + offset)));
    if (rank % 2 != 0) continue;
    errors.pairs = std::max(errors.pairs, spectral_norm(sub(full, core(matmul(kept, turn)))));
    const Tensor narrow = matmul(matmul(mixed_q, rotation(narrow_ones, offset, pairing)), mixed_k, false, true);
    errors.mixed = std::max(errors.mixed, spectral_norm(sub(full, narrow)));
  }
  return errors;
}

}  // namespace headroom::tasks
