#include <limits>

#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

OpSamples masked_fill_samples() {
  const auto with = [](double value) {
    return [value](const std::vector<Var>& in) { return masked_fill(in[0], in[1].value(), value); };
  };
  const auto inputs = [](Shape x, Shape mask) {
    return std::vector<Input>{normal("x", x), booleans("mask", mask, 0.4)};
  };
  OpSamples out;
  out.samples = {{"typical", inputs({3, 5, 7}, {3, 5, 7}), with(-2.5)},
                 {"long", inputs({2, 1031}, {2, 1031}), with(0)},
                 {"broadcast", inputs({2, 3, 5, 5}, {5, 5}), with(-1e4)},
                 {"-inf under softmax", inputs({4, 3, 9}, {3, 9}),
                  [](const std::vector<Var>& in) {
                    return softmax(masked_fill(in[0], in[1].value(), -std::numeric_limits<double>::infinity()));
                  }},
                 {"size-1", inputs({1}, {1}), with(3)},
                 {"empty", inputs({0, 4}, {4}), with(3)}};
  out.refusals = {{"shapes", inputs({2, 3}, {4}), with(0), {"masked_fill", "(2, 3)", "(4)"}},
                  {"mask larger than x", inputs({3}, {2, 3}), with(0), {"masked_fill", "(2, 3)", "(3)"}},
                  {"not bool", {normal("x", {3}), normal("mask", {3})}, with(0), {"masked_fill", "bool"}}};
  out.value = {8}, out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
