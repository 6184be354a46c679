#include "engine/ops/elementwise/unary.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/ops/elementwise/activations.h"
#include "engine/ops/elementwise/math_functions.h"

namespace headroom::autograd {
namespace {

/// Samples that fit any elementwise op of one operand whose domain is (low, high), and its tail where it has one.
template <class Functor>
OpSamples unary_samples(const char* name, Var (*op)(const Var&)) {
  const auto run = [op](const std::vector<Var>& in) { return op(in[0]); };
  static_assert(
      requires { Functor::ulps + Functor::slope_ulps; },
      "state the functor's error bounds, ulps and slope_ulps, as its neighbours do");
  Tolerances tolerances = elementwise(Functor::ulps, Functor::slope_ulps);
  // A slope that passes through 0 there is a difference of numbers near 1.
  if constexpr (requires { Functor::slope_has_zero; })
    tolerances = elementwise(Functor::ulps, Functor::slope_ulps, Functor::slope_has_zero ? 1e-6 : 0);
  const Tolerances tail_tolerances = elementwise(Functor::ulps, Functor::slope_ulps);
  OpSamples out;
  for (const auto& [label, shape] : std::vector<std::pair<std::string, Shape>>{
           {"typical", {3, 5, 7}}, {"long", {2, 1031}}, {"size-1", {1}}, {"scalar", {}}, {"empty", {0, 4}}})
    out.samples.push_back({label, {uniform("x", shape, Functor::low, Functor::high)}, run, {}, tolerances});
  if constexpr (requires { Functor::tail_low; })
    out.samples.push_back(
        {"tail", {uniform("x", {3, 211}, Functor::tail_low, Functor::tail_high)}, run, {}, tail_tolerances});
  out.refusals.push_back({"integers", {integers("x", {3}, 0, 5)}, run, {name, "i64"}});
  return out;
}

}  // namespace

#define HEADROOM_SAMPLES(NAME, FUNCTOR) \
  OpSamples NAME##_samples() { return unary_samples<engine::FUNCTOR>(#NAME, NAME); }
HEADROOM_UNARY_OPS(HEADROOM_SAMPLES)
#undef HEADROOM_SAMPLES

}  // namespace headroom::autograd
