#include "engine/ops/elementwise/binary.h"

#include "engine/ops/elementwise/binary_list.h"

#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {
namespace {

/// Samples that fit any elementwise op of two operands; b stays away from 0.
OpSamples binary_samples(const char* name, Var (*op)(const Var&, const Var&)) {
  const auto run = [op](const std::vector<Var>& in) { return op(in[0], in[1]); };
  const auto pair = [](const Shape& a, const Shape& b) {
    return std::vector<Input>{normal("a", a), uniform("b", b, 0.5, 2.0)};
  };
  OpSamples out;
  out.samples = {{"typical", pair({3, 5, 7}, {3, 5, 7}), run},
                 {"long", pair({2, 1031}, {2, 1031}), run},
                 {"broadcast row", pair({4, 3, 5}, {5}), run},
                 {"broadcast column", pair({4, 3, 5}, {4, 3, 1}), run},
                 {"broadcast both", pair({4, 1, 5}, {3, 1}), run},
                 {"broadcast left", pair({6}, {2, 3, 6}), run},
                 {"broadcast scalar", pair({}, {2, 3}), run},
                 {"size-1", pair({1}, {1}), run},
                 {"empty", pair({0, 4}, {0, 4}), run},
                 {"empty broadcast", pair({0, 4}, {1, 4}), run}};
  out.value = {0.5}, out.gradient = {4, 1e-6};
  for (Sample& sample : out.samples) sample.tolerances.gradient.least = 1;  // that of a - a, or a / a, cancels
  out.refusals = {{"shapes", pair({2, 3}, {4}), run, {name, "(2, 3)", "(4)"}},
                  {"integers", {integers("a", {3}, 0, 5), normal("b", {3})}, run, {name, "i64"}}};
  return out;
}

}  // namespace

#define HEADROOM_SAMPLES(NAME, FUNCTOR) \
  OpSamples NAME##_samples() { return binary_samples(#NAME, NAME); }
HEADROOM_BINARY_OPS(HEADROOM_SAMPLES)
#undef HEADROOM_SAMPLES

}  // namespace headroom::autograd
