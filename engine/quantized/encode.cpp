#include "engine/quantized/encode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/dtype.h"
#include "engine/error.h"
#include "engine/quantized/run_fit.h"

namespace headroom::engine {
namespace {

/// Integers of a run's step and minimum, and its loss with them.
struct RunScale {
  int s = 0, n = 0;
  double loss = 0;
};

/// One block on its way into format F. Its numbers are divided by a power of two, so that nothing overflows.
template <class F>
class Encoder {
 public:
  using Shared = RunFit;  ///< the f16 of a block: its runs have s · step and -n · minimum
  static constexpr bool has_scales = F::scale_low != F::scale_high;
  static constexpr int run = has_scales ? F::run : F::elements, runs = F::elements / run;
  /// Of the integers that a run's minimum is a multiple of the block's by.
  static constexpr int n_low = F::has_minimum && !has_scales ? 1 : 0, n_high = F::has_minimum ? F::scale_high : 0;
  static constexpr RunMinimum kind = !F::has_minimum ? RunMinimum::none
                                     : has_scales    ? RunMinimum::not_above_zero
                                                     : RunMinimum::any;

  Encoder(const float* x, const float* weights) : weights_(weights) {
    float most = 0;
    for (int i = 0; i < F::elements; ++i) most = std::max(most, std::fabs(x[i]));
    (void)std::frexp(most, &exponent_);
    for (int i = 0; i < F::elements; ++i) x_[i] = std::ldexp(x[i], -exponent_);
  }

  bool write(uint8_t* block) {
    std::array<RunFit, runs> fits;
    for (int j = 0; j < runs; ++j) fits[j] = best_fit(run_at(j), kind);
    Shared shared = first_shared(fits);
    if (!std::isfinite(shared.step) || !std::isfinite(shared.minimum)) return false;
    std::array<RunScale, runs> scales;
    for (int j = 0; j < runs; ++j)
      scales[j] = {near(fits[j].step, shared.step, F::scale_low, F::scale_high),
                   near(-fits[j].minimum, shared.minimum, n_low, n_high)};
    double loss = settled(shared, scales);
    constexpr int rounds = 4;
    for (int i = 0; i < rounds; ++i) {
      std::array<RunScale, runs> tried = scales;
      const Shared next = corrected(shared, scales);
      if (!std::isfinite(next.step) || !std::isfinite(next.minimum)) break;
      const double found = settled(next, tried);
      if (!(found < loss)) break;
      loss = found, shared = next, scales = tried;
    }
    put(shared, scales, block);
    return true;
  }

 private:
  WeightedRun run_at(int j) const { return {x_.data() + j * run, weights_ + j * run, run, F::low, F::high}; }

  /// A step as the block holds it: an f16. One that runs have multiples of is not rounded to 0.
  float held(double step) const {
    if (step == 0) return 0;
    f16 half(static_cast<float>(std::ldexp(step, exponent_)));
    if (has_scales && static_cast<float>(half) == 0)
      half = f16(std::copysign(std::ldexp(1.0F, -24), static_cast<float>(step)));
    return std::ldexp(static_cast<float>(half), -exponent_);
  }

  static int near(float value, float step, int low, int high) {
    if (step == 0) return std::clamp(0, low, high);
    return static_cast<int>(std::clamp(std::round(double{value} / double{step}), double(low), double(high)));
  }

  /// The step of which the values are nearly multiples by integers up to `high` (or down to `low`): Σ c (k · step -
  /// value)² of the nearest k is least among the steps that give the largest value a k in the range's outer half.
  static double shared_step(const std::array<double, runs>& values, const std::array<double, runs>& curvatures, int low,
                            int high) {
    double end = 0, best = 0, least = INFINITY;
    for (const double value : values)
      if (std::fabs(value) > std::fabs(end)) end = value;
    if (end == 0) return 0;
    for (const int last : {low, high})
      for (int k = last; std::abs(k) > std::abs(last) / 2; k -= last > 0 ? 1 : -1) {
        const double step = end / k;
        double loss = 0;
        for (int j = 0; j < runs; ++j) {
          const double nearest = std::clamp(std::nearbyint(values[j] / step), double(low), double(high));
          loss += curvatures[j] * (nearest * step - values[j]) * (nearest * step - values[j]);
        }
        if (loss < least) least = loss, best = step;
      }
    return best;
  }

  Shared first_shared(const std::array<RunFit, runs>& fits) const {
    if (!has_scales) return {held(fits[0].step), -held(fits[0].minimum)};
    std::array<double, runs> steps{}, minima{}, of_steps{}, of_minima{};
    for (int j = 0; j < runs; ++j) {
      const RunSums sums = sums_at(run_at(j), fits[j].step, fits[j].minimum);
      steps[j] = fits[j].step, minima[j] = -fits[j].minimum, of_steps[j] = sums.wqq, of_minima[j] = sums.w;
    }
    return {held(shared_step(steps, of_steps, F::scale_low, F::scale_high)),
            held(shared_step(minima, of_minima, 0, n_high))};
  }

  static float minimum_of(const Shared& shared, int n) { return -(shared.minimum * static_cast<float>(n)); }
  static float step_of(const Shared& shared, int s) { return shared.step * static_cast<float>(s); }

  double loss_at(int j, const Shared& shared, int s, int n) const {
    return sums_at(run_at(j), step_of(shared, s), minimum_of(shared, n)).loss;
  }

  /// Moves every run's integers to neighbours as long as one is better. Returns the block's loss.
  double settled(const Shared& shared, std::array<RunScale, runs>& scales) const {
    constexpr int moves = 8;
    double sum = 0;
    for (int j = 0; j < runs; ++j) {
      RunScale& best = scales[j];
      best.loss = loss_at(j, shared, best.s, best.n);
      for (int move = 0; move < moves; ++move) {
        const RunScale from = best;
        for (int s = std::max(from.s - 1, F::scale_low); s <= std::min(from.s + 1, F::scale_high); ++s)
          for (int n = std::max(from.n - 1, n_low); n <= std::min(from.n + 1, n_high); ++n)
            if (s != from.s || n != from.n)
              if (const double loss = loss_at(j, shared, s, n); loss < best.loss) best = {s, n, loss};
        if (best.s == from.s && best.n == from.n) break;
      }
      sum += best.loss;
    }
    return sum;
  }

  /// The shared steps that least squares gives for all of the block's q, s and n: those of one run of numbers s · q.
  Shared corrected(const Shared& shared, const std::array<RunScale, runs>& scales) const {
    RunSums all{};
    for (int j = 0; j < runs; ++j) {
      const double s = scales[j].s, n = scales[j].n;
      const RunSums own = sums_at(run_at(j), step_of(shared, scales[j].s), minimum_of(shared, scales[j].n));
      all.wqq += s * s * own.wqq, all.wq -= s * n * own.wq, all.w += n * n * own.w;
      all.weq += s * own.weq, all.we -= n * own.we;
    }
    const RunFit next = engine::corrected(shared, all, F::has_minimum ? RunMinimum::any : RunMinimum::none);
    return {held(next.step), held(next.minimum)};
  }

  void put(const Shared& shared, const std::array<RunScale, runs>& scales, uint8_t* block) const {
    std::memset(block, 0, F::bytes);
    const std::array<float, 2> halves{shared.step, kind == RunMinimum::any ? -shared.minimum : shared.minimum};
    for (size_t i = 0; i < 2; ++i) {
      const f16 half(std::ldexp(halves[i], exponent_));
      if (F::scale_places[i] >= 0) std::memcpy(block + F::scale_places[i], &half.bits, 2);
    }
    std::array<float, F::elements> q;
    for (int j = 0; j < runs; ++j) {
      nearest(run_at(j), step_of(shared, scales[j].s), minimum_of(shared, scales[j].n), q.data() + j * run);
      if (has_scales) F::put_scale(block, j, scales[j].s, scales[j].n);
    }
    for (int i = 0; i < F::elements; ++i) F::put_number(block, i / F::run, i % F::run, static_cast<int>(q[i]));
  }

  const float* weights_;
  int exponent_ = 0;
  std::array<float, F::elements> x_;
};

}  // namespace

bool encode_block(BlockFormat format, const float* x, const float* weights, uint8_t* block) {
  bool fits = false;
  visit_format(format, [&](auto f) {
    using F = decltype(f);
    if constexpr (requires { F::scale_high; }) fits = Encoder<F>(x, weights).write(block);
    else fail("encode: {} is not written", traits_of(format).name);
  });
  return fits;
}

}  // namespace headroom::engine
