#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "engine/context.h"
#include "engine/cuda/check.h"
#include "engine/cuda/split_product.h"

namespace headroom::engine::cuda {
namespace {

int64_t quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A GPU's multiprocessors, and FLOP/s of products by the library, 0.72 of the data sheet's f32 as fitted to an H100's
/// steps, and by ours. Those are assumed: a sixth of 0.65 of the data sheet's bf16; on 9.0 of 0.4, as mma.sync reaches
/// 0.62 there. On others tensor cores are not fast enough.
struct Rates {
  int64_t multiprocessors;
  double library, split;
};
Rates rates() {
  int device = 0, major = 0, minor = 0;
  HEADROOM_CUDA(cudaGetDevice(&device));
  HEADROOM_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  HEADROOM_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  if (major == 8 && minor == 0) return {108, 14.1e12, 33.8e12};
  if (major == 9) return {132, 48.4e12, 66e12};
  return {132, 1, 0.5};
}

int64_t tiles_of(const BlasProduct& p) { return p.batch * quotient(p.m, split_side) * quotient(p.n, split_side); }

/// True if sums are long enough for errors no larger than if f32 added term by term, also of numbers between 2^-40 and
/// 2^40, and our kernel takes at most 0.9 of the library's time: tests/gpu/predict.py has the same model.
bool is_faster(const BlasProduct& p) {
  if (p.k < 256) return false;
  const Rates of = rates();
  const int64_t parts = split_parts(p);
  const auto work = [](int64_t m, int64_t n, int64_t k) { return 2.0 * static_cast<double>(m * n * k); };
  const double library = work(p.batch * p.m, p.n, p.k) / of.library;
  const auto waves = static_cast<double>(quotient(tiles_of(p) * parts, of.multiprocessors));
  double split =
      waves * work(split_side, split_side, quotient(p.k, parts)) * static_cast<double>(of.multiprocessors) / of.split;
  if (parts > 1) split += 3.7e-6 + static_cast<double>((2 * parts + 1) * p.batch * p.m * p.n) * 4 / 1.35e12;
  constexpr double launch = 5.2e-6;
  return launch + split <= 0.9 * (launch + library);
}

}  // namespace

int64_t split_parts(const BlasProduct& p) {
  return std::max<int64_t>(1, std::min(rates().multiprocessors / tiles_of(p), p.k / 256));
}

bool is_split(const BlasProduct& p) {
  static const std::string_view said = [] {
    const char* const value = std::getenv("HEADROOM_F32_PRODUCTS");
    return std::string_view(value ? value : "");
  }();
  const bool is_always = said == "split-always";
  if (!is_always && said != "split") return false;
  if (p.dtype != DType::f32 || context().tf32 || context().precision == Precision::bf16) return false;
  if (p.batch == 0 || p.m == 0 || p.n == 0 || p.k == 0) return false;
  constexpr int64_t most_blocks = 65535, most_terms = int64_t{1} << 30;
  if (p.k > most_terms || quotient(p.m, split_side) > most_blocks || p.batch * split_parts(p) > most_blocks)
    return false;
  return is_always || is_faster(p);
}

}  // namespace headroom::engine::cuda
