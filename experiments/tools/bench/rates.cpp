#include "experiments/tools/bench/profile_table.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include "engine/context.h"
#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_bf16.h"
#include "engine/cpu/onednn.h"
#include "engine/ops/elementwise/unary_kernel.h"
#include "engine/parallel.h"
#include "engine/rng.h"
#include "engine/tensor.h"
#include "experiments/tools/plan/cost_plan.h"

namespace headroom::experiments {
namespace {

using engine::Tensor;

/// Seconds of the fastest call; after the first one, which warms up, as many as fit into a short while.
template <class F>
double least_seconds(const F& f) {
  using Clock = std::chrono::steady_clock;
  constexpr int least_calls = 3, most_calls = 200;
  constexpr std::chrono::milliseconds patience(40);
  f();
  double best = 1e30;
  const auto begin = Clock::now();
  for (int i = 0; i < least_calls || (i < most_calls && Clock::now() - begin < patience); ++i) {
    const auto call = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - call).count());
  }
  return best;
}

/// Seconds of one of a batch of products.
double measure_product(const engine::Product& p) {
  using engine::bf16, engine::DType, engine::ProductPath;
  const int64_t batch = std::min<int64_t>(p.batch, 4 * engine::num_threads());
  engine::Rng rng(0);
  const auto random = [&](int64_t n) { return engine::random_normal({n}, rng, "factor"); };
  const Tensor a = random(batch * p.m * p.k), b = random(batch * p.k * p.n), c = Tensor::empty({batch * p.m * p.n});
  const int64_t a_stride = p.transpose_a ? p.m : p.k, b_stride = p.transpose_b ? p.k : p.n;
  std::vector<int64_t> a_offsets, b_offsets;
  for (int64_t i = 0; i < batch; ++i) a_offsets.push_back(i * p.m * p.k), b_offsets.push_back(i * p.k * p.n);
  float* const sums = c.mutable_data<float>();

  double best = 1e30;
  const auto in_one_call = [&](const auto& gemm, const auto* from_a, const auto* from_b) {
    const auto call = [&] {
      return gemm(p.transpose_a, p.transpose_b, p.m, p.n, p.k, from_a, a_stride, from_b, b_stride, sums, p.n,
                  engine::num_threads());
    };
    if (batch == 1 && call()) best = std::min(best, least_seconds(call));
  };
  for (const ProductPath path : {ProductPath::own, ProductPath::onednn}) {
    const engine::ProductPathScope scope(path);
    best = std::min(best, least_seconds([&] {
                      engine::gemm<float>({p.m,
                                           p.n,
                                           p.k,
                                           {a.data<float>(), a_stride, p.transpose_a},
                                           {b.data<float>(), b_stride, p.transpose_b},
                                           sums,
                                           p.n},
                                          batch, a_offsets.data(), b_offsets.data(), p.m * p.n);
                    }));
  }
  in_one_call(engine::onednn_sgemm, a.data<float>(), b.data<float>());
  if (p.dtype == DType::bf16) {
    const Tensor a16 = a.to(DType::bf16), b16 = b.to(DType::bf16), y = Tensor::empty(c.shape(), DType::bf16);
    for (const bool rounds : {false, true})
      best = std::min(best, least_seconds([&] {
                        engine::gemm_bf16({.m = p.m,
                                           .n = p.n,
                                           .k = p.k,
                                           .a = {a16.data<bf16>(), a_stride, p.transpose_a},
                                           .b = {b16.data<bf16>(), b_stride, p.transpose_b},
                                           .y = rounds ? y.mutable_data<bf16>() : nullptr,
                                           .c = rounds ? nullptr : sums},
                                          batch, a_offsets.data(), b_offsets.data());
                      }));
    in_one_call(engine::onednn_gemm_bf16, a16.data<bf16>(), b16.data<bf16>());
  }
  return best / static_cast<double>(batch);
}

double measure_exponential() {
  constexpr int64_t block = 4096, rounds = 16;
  const int64_t tasks = 16 * engine::num_threads();
  engine::Rng rng(0);
  const Tensor x = engine::random_normal({block}, rng, "x", -2);
  return least_seconds([&] {
           engine::parallel_for(tasks, [&](int64_t) {
             float y[block];
             for (int64_t i = 0; i < rounds; ++i) engine::kernel::exp_forward(x.data<float>(), y, block);
           });
         }) /
         static_cast<double>(tasks * rounds * block);
}

}  // namespace

Rates measured_rates(int64_t footprint) {
  constexpr int64_t least = int64_t{1} << 12, most = int64_t{1} << 27;
  return {.product =
              [known = std::map<engine::Product, double>()](engine::Product p) mutable {
                const double share = p.share * static_cast<double>(p.batch);
                p.share = 1;
                const auto [place, is_new] = known.try_emplace(p);
                if (is_new) place->second = p.flops() > 0 ? measure_product(p) : 0;
                return place->second * share;
              },
          .exponential = measure_exponential(),
          .byte = 1 / measured_bandwidth(std::clamp(footprint / 2, least, most))};
}

}  // namespace headroom::experiments
