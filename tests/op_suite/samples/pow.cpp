#include "engine/ops/pow/pow.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples pow_samples() {
  const auto run = [](const std::vector<Var>& in) { return pow(in[0], in[1]); };
  const auto to = [](double exponent) { return [=](const std::vector<Var>& in) { return pow(in[0], exponent); }; };
  const auto pair = [](const Shape& a, const Shape& b) {
    return std::vector<Input>{uniform("a", a, 0.3, 2), uniform("b", b, -2, 3)};
  };
  const auto one = [](const Shape& shape) { return std::vector<Input>{uniform("a", shape, 0.3, 2)}; };
  const auto any_sign = [](const Shape& shape) { return std::vector<Input>{normal("a", shape)}; };
  OpSamples out;
  out.samples = {{"typical", pair({3, 5, 7}, {3, 5, 7}), run}, {"long", pair({2, 1031}, {2, 1031}), run},
                 {"broadcast row", pair({4, 3, 5}, {5}), run}, {"broadcast both", pair({4, 1, 5}, {3, 1}), run},
                 {"broadcast scalar", pair({}, {2, 3}), run},  {"square", any_sign({3, 33}), to(2)},
                 {"cube", any_sign({3, 33}), to(3)},           {"fourth power", any_sign({3, 33}), to(4)},
                 {"to zero", any_sign({3, 5}), to(0)},         {"to one", any_sign({3, 5}), to(1)},
                 {"reciprocal", one({3, 33}), to(-1)},         {"square root", one({3, 33}), to(0.5)},
                 {"a fraction", one({3, 33}), to(-1.7)},       {"size-1", pair({1}, {1}), run},
                 {"empty", pair({0, 4}, {0, 4}), run}};
  out.refusals = {{"shapes", pair({2, 3}, {4}), run, {"pow", "(2, 3)", "(4)"}},
                  {"integers", {integers("a", {3}, 0, 5)}, to(2), {"pow", "i64"}}};
  out.value = {4}, out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
