// Products of bf16: against f64, with the same bits on every instruction set and any number of threads.
#include "engine/cpu/gemm_bf16.h"

#include <bit>
#include <cmath>
#include <memory>

#include "engine/context.h"
#include "engine/cpu/gemm_bf16_kernel.h"
#include "engine/cpu/onednn.h"
#include "engine/philox.h"
#include "engine/rng.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

using namespace headroom::engine;

namespace {

using Halves = std::vector<bf16>;

/// Bits of any kind: subnormal numbers, infinities and NaNs, too.
Halves any_bits(int64_t n, uint32_t stream) {
  Halves x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i].bits = static_cast<uint16_t>(random_bits({5, stream, 0}, i) >> 7);
  return x;
}

/// In [-1, 1), with the exponent moved by `shift`.
Halves numbers(int64_t n, uint32_t stream, int shift = 0) {
  Halves x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = bf16(std::ldexp(static_cast<float>(random_bits({6, stream, 0}, i)) * 0x1p-31f - 1, shift));
  return x;
}

uint32_t* scratch() {
  struct Free {
    void operator()(uint32_t* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  static const std::unique_ptr<uint32_t, Free> block(
      static_cast<uint32_t*>(::operator new(gemm_bf16_scratch * sizeof(uint32_t), std::align_val_t(64))));
  return block.get();
}

/// The f32 sums of a (m, k) · b (k, n) by one version of the kernel. A NaN has no other bits.
std::vector<uint32_t> sums(decltype(kernel::gemm_tile_bf16)::Function tile, const Halves& a, const Halves& b, int64_t m,
                           int64_t n, int64_t k) {
  std::vector<float> c(static_cast<size_t>(m * n));
  tile({m, n, k, &a[0].bits, k, 1, &b[0].bits, n, 1, c.data(), nullptr, n, nullptr, nullptr}, scratch());
  std::vector<uint32_t> bits;
  for (const float x : c) bits.push_back(std::isnan(x) ? 0x7fc00000u : std::bit_cast<uint32_t>(x));
  return bits;
}

struct Shape3 {
  int64_t m, n, k;
};

}  // namespace

TEST_CASE("bf16 products have the same bits by vdpbf16ps and by f32 arithmetic, on every instruction set") {
  const auto& tile = kernel::gemm_tile_bf16;
  for (const Shape3 s : {Shape3{13, 33, 1}, Shape3{12, 40, 64}, Shape3{25, 70, 77}})
    for (const auto& [a, b] : {std::pair{any_bits(s.m * s.k, 1), any_bits(s.k * s.n, 2)},
                               std::pair{numbers(s.m * s.k, 1), numbers(s.k * s.n, 2)},
                               std::pair{numbers(s.m * s.k, 1, -62), numbers(s.k * s.n, 2, -66)},
                               std::pair{numbers(s.m * s.k, 1, 60), numbers(s.k * s.n, 2, 66)}}) {
      INFO(s.m << " × " << s.n << " × " << s.k);
      const std::vector<uint32_t> want = sums(tile.portable, a, b, s.m, s.n, s.k);
      if (active_isa() >= Isa::avx2) CHECK(sums(tile.avx2, a, b, s.m, s.n, s.k) == want);
      if (active_isa() >= Isa::avx512) CHECK(sums(tile.avx512, a, b, s.m, s.n, s.k) == want);
      if (has_bf16_pairs()) CHECK(sums(tile.avx512_bf16, a, b, s.m, s.n, s.k) == want);
    }
}

TEST_CASE("bf16 products: every layout, k beyond one block, a bias and what is added, on any number of threads") {
  for (const Shape3 s : {Shape3{1, 1, 1}, Shape3{7, 300, 19}, Shape3{200, 48, 130}, Shape3{40, 17, 5000}}) {
    const Halves a = numbers(s.m * s.k, 3), b = numbers(s.k * s.n, 4), added = numbers(s.m * s.n, 5);
    std::vector<float> bias;
    for (int64_t j = 0; j < s.n; ++j) bias.push_back(0.25f * static_cast<float>(j % 7));
    for (const bool a_turned : {false, true})
      for (const bool b_turned : {false, true}) {
        INFO(s.m << " × " << s.n << " × " << s.k << ", " << a_turned << b_turned);
        const MatrixFactor<bf16> left{a.data(), a_turned ? s.m : s.k, a_turned};
        const MatrixFactor<bf16> right{b.data(), b_turned ? s.k : s.n, b_turned};
        const auto size = static_cast<size_t>(s.m * s.n);
        const auto run = [&](int threads, bool is_f32) {
          const ThreadScope limit(threads);
          Halves y(size);
          std::vector<float> c(size);
          if (is_f32) gemm_bf16({.m = s.m, .n = s.n, .k = s.k, .a = left, .b = right, .y = nullptr, .c = c.data()});
          else gemm_bf16({s.m, s.n, s.k, left, right, y.data(), nullptr, bias.data(), added.data()});
          for (size_t i = 0; i < size && !is_f32; ++i) c[i] = static_cast<float>(y[i]);
          return c;
        };
        const std::vector<float> exact = run(1, true), rounded = run(1, false);
        CHECK(run(3, true) == exact);
        CHECK(run(3, false) == rounded);
        double worst = 0, worst_rounded = 0;
        for (int64_t i = 0; i < s.m; ++i)
          for (int64_t j = 0; j < s.n; ++j) {
            double want = 0;
            for (int64_t p = 0; p < s.k; ++p)
              want +=
                  static_cast<double>(
                      static_cast<float>(a[static_cast<size_t>(a_turned ? p * s.m + i : i * s.k + p)])) *
                  static_cast<double>(static_cast<float>(b[static_cast<size_t>(b_turned ? j * s.k + p : p * s.n + j)]));
            const auto at = static_cast<size_t>(i * s.n + j);
            worst = std::max(worst, headroom::testing::apart(static_cast<double>(exact[at]), want));
            want +=
                static_cast<double>(bias[static_cast<size_t>(j)]) + static_cast<double>(static_cast<float>(added[at]));
            worst_rounded = std::max(worst_rounded, headroom::testing::apart(static_cast<double>(rounded[at]), want) /
                                                        (1 + std::fabs(want)));
          }
        CHECK(worst < 1e-7 * static_cast<double>(s.k) + 1e-6);  // k roundings of sums below √k
        CHECK(worst_rounded < 0x1p-8);
      }
  }
}

TEST_CASE("oneDNN's product of bf16, where it has one, is ours, transposed or not, on any number of threads") {
  constexpr int64_t m = 17, n = 30, k = 21;
  const Halves a = numbers(m * k, 1), b = numbers(k * n, 2);
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const int threads : {1, 2}) {
        std::vector<float> theirs(m * n), ours(m * n);
        const int64_t lda = ta ? m : k, ldb = tb ? k : n;
        if (!onednn_gemm_bf16(ta, tb, m, n, k, a.data(), lda, b.data(), ldb, theirs.data(), n, threads)) continue;
        gemm_bf16({.m = m,
                   .n = n,
                   .k = k,
                   .a = {a.data(), lda, ta},
                   .b = {b.data(), ldb, tb},
                   .y = nullptr,
                   .c = ours.data()});
        for (size_t i = 0; i < ours.size(); ++i) CHECK(theirs[i] == Approx(ours[i]).margin(1e-5));
      }
}
