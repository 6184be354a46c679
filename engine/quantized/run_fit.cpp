#include "engine/quantized/run_fit.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace headroom::engine {
namespace {

/// Eight lanes, added up in a fixed order, so that the bits do not depend on the vectors of the machine.
using Lanes = float __attribute__((vector_size(32)));
constexpr int lanes = 8;

Lanes load(const float* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

double total(Lanes v) {
  double sum = 0;
  for (int i = 0; i < lanes; ++i) sum += double{v[i]};
  return sum;
}

/// Rounds numbers in [low, high], ties to even.
Lanes nearest_of(Lanes x, float inverse, float minimum, float low, float high) {
  constexpr float to_integers = 12582912;  // 1.5 · 2^23: the sum has no bits behind the point
  Lanes q = (x - minimum) * inverse;
  q = q < low ? low - Lanes{} : q;
  q = q > high ? high - Lanes{} : q;
  return (q + to_integers) - to_integers;
}

float inverse_of(float step) {
  const float inverse = 1 / step;
  return std::isfinite(inverse) ? inverse : 0;
}

/// Alternates from a step and a minimum, and keeps the best of all in `best`.
void descend(const WeightedRun& run, RunMinimum kind, RunFit at, RunFit& best) {
  constexpr int rounds = 3;
  for (int i = 0; i < rounds; ++i) {
    const RunSums sums = sums_at(run, at.step, at.minimum);
    if (sums.loss < best.loss) best = {at.step, at.minimum, sums.loss};
    else if (i > 0) return;
    at = corrected(at, sums, kind);
  }
  if (const double loss = sums_at(run, at.step, at.minimum).loss; loss < best.loss) best = {at.step, at.minimum, loss};
}

}  // namespace

RunFit corrected(const RunFit& at, const RunSums& s, RunMinimum kind) {
  if (!(s.wqq > 0)) return at;
  const double determinant = s.wqq * s.w - s.wq * s.wq;
  double minimum = 0;
  if (kind != RunMinimum::none && determinant > 1e-9 * s.wqq * s.w) {
    minimum = (s.wq * s.weq - s.wqq * s.we) / determinant;
    if (kind == RunMinimum::not_above_zero) minimum = std::min(minimum, -double{at.minimum});
  }
  return {static_cast<float>(at.step - (s.weq + minimum * s.wq) / s.wqq), static_cast<float>(at.minimum + minimum)};
}

RunSums sums_at(const WeightedRun& run, float step, float minimum) {
  const float inverse = inverse_of(step), low = static_cast<float>(run.low), high = static_cast<float>(run.high);
  Lanes loss{}, w_sum{}, wq_sum{}, wqq{}, we_sum{}, weq{};
  for (int i = 0; i < run.count; i += lanes) {
    const Lanes x = load(run.x + i), w = load(run.weight + i);
    const Lanes q = nearest_of(x, inverse, minimum, low, high);
    const Lanes e = q * step + minimum - x, we = w * e, wq = w * q;
    loss += we * e, weq += we * q, wqq += wq * q;
    we_sum += we, wq_sum += wq, w_sum += w;
  }
  return {total(loss), total(w_sum), total(wq_sum), total(wqq), total(we_sum), total(weq)};
}

void nearest(const WeightedRun& run, float step, float minimum, float* q) {
  for (int i = 0; i < run.count; i += lanes) {
    const Lanes rounded = nearest_of(load(run.x + i), inverse_of(step), minimum, static_cast<float>(run.low),
                                     static_cast<float>(run.high));
    std::memcpy(q + i, &rounded, sizeof rounded);
  }
}

RunFit best_fit(const WeightedRun& run, RunMinimum kind) {
  const auto [least, most] = std::minmax_element(run.x, run.x + run.count);
  RunFit best{0, 0, sums_at(run, 0, 0).loss};
  if (kind == RunMinimum::none) {
    // The largest number at either end of the range, or a little inside or outside of it.
    const float end = -*least > *most ? *least : *most;
    for (const int at : {run.low, run.high})
      for (float beyond = -3; beyond <= 3; beyond += 0.5F)
        descend(run, kind, {end / (static_cast<float>(at) + beyond), 0}, best);
    return best;
  }
  const float low = kind == RunMinimum::not_above_zero ? std::min(*least, 0.0F) : *least;
  const auto levels = static_cast<float>(run.high - run.low);
  for (float beyond = -3; beyond <= 3; beyond += 0.5F)
    descend(run, kind, {(*most - low) / (levels + beyond), low}, best);
  return best;
}

}  // namespace headroom::engine
