#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

namespace {

std::vector<Input> one(const Shape& shape) { return {normal("x", shape)}; }

}  // namespace

OpSamples reshape_samples() {
  const auto to = [](Shape shape) { return [shape](const std::vector<Var>& in) { return reshape(in[0], shape); }; };
  OpSamples out;
  out.samples = {{"typical", one({3, 4, 5}), to({12, 5})},
                 {"inferred axis", one({3, 4, 5}), to({2, -1, 3})},
                 {"of a transposed view", one({3, 5}),
                  [](const std::vector<Var>& in) { return reshape(transpose(in[0], 0, 1), {15}); }},
                 {"size-1", one({1}), to({1, 1})},
                 {"scalar", one({1, 1}), to({})},
                 {"empty", one({0, 4}), to({2, 0})}};
  out.refusals = {{"elements", one({2, 3}), to({4}), {"reshape", "(2, 3)", "(4)"}},
                  {"two inferred", one({2, 3}), to({-1, -1}), {"reshape", "(-1, -1)"}},
                  {"not divisible", one({2, 3}), to({4, -1}), {"reshape", "(2, 3)"}}};
  out.value = out.gradient = {0};
  return out;
}

OpSamples permute_samples() {
  const auto by = [](const std::vector<int>& axes) {
    return [axes](const std::vector<Var>& in) { return permute(in[0], axes); };
  };
  OpSamples out;
  out.samples = {{"typical", one({3, 4, 5}), by({2, 0, 1})},
                 {"negative axes", one({2, 3, 4, 5}), by({0, -2, 1, -1})},
                 {"identity", one({3, 5}), by({0, 1})},
                 {"size-1", one({1, 1}), by({1, 0})},
                 {"scalar", one({}), by({})},
                 {"empty", one({0, 4, 3}), by({1, 2, 0})}};
  out.refusals = {{"too few axes", one({2, 3}), by({0}), {"permute", "(2, 3)"}},
                  {"axis twice", one({2, 3}), by({1, -1}), {"permute", "(2, 3)", "axis 1"}},
                  {"no such axis", one({2, 3}), by({0, 2}), {"(2, 3)", "axis 2"}}};
  out.value = out.gradient = {0};
  return out;
}

OpSamples transpose_samples() {
  const auto by = [](int a, int b) { return [a, b](const std::vector<Var>& in) { return transpose(in[0], a, b); }; };
  OpSamples out;
  out.samples = {{"typical", one({3, 4, 5}), by(1, 2)},
                 {"outer axes", one({3, 4, 5}), by(0, -1)},
                 {"same axis", one({3, 5}), by(1, 1)},
                 {"size-1", one({1, 1}), by(0, 1)},
                 {"empty", one({0, 4}), by(0, 1)}};
  out.refusals = {{"no such axis", one({2, 3}), by(0, 2), {"(2, 3)", "axis 2"}}};
  out.value = out.gradient = {0};
  return out;
}

OpSamples slice_samples() {
  const auto of = [](int axis, int64_t begin, int64_t end, int64_t step = 1) {
    return [=](const std::vector<Var>& in) { return slice(in[0], axis, begin, end, step); };
  };
  OpSamples out;
  out.samples = {{"typical", one({3, 7, 5}), of(1, 2, 6)},
                 {"last axis", one({3, 7, 5}), of(-1, 1, 4)},
                 {"first axis", one({5, 3}), of(0, 0, 2)},
                 {"whole", one({3, 5}), of(1, 0, 5)},
                 {"size-1", one({1}), of(0, 0, 1)},
                 {"empty", one({0, 4}), of(1, 1, 3)},
                 {"nothing of it", one({3, 4}), of(1, 2, 2)},
                 {"steps", one({3, 7, 5}), of(1, 1, 7, 3)},
                 {"from the end", one({3, 7}), of(1, -5, -1, 2)},
                 {"to the end", one({7, 3}), of(0, 2, Tensor::to_end)}};
  out.refusals = {{"beyond the end", one({2, 3}), of(1, 1, 4), {"slice", "(2, 3)", "[1, 4)"}},
                  {"before the start", one({2, 3}), of(1, -4, 2), {"slice", "(2, 3)", "[-4, 2)"}},
                  {"backwards", one({2, 3}), of(1, 0, 3, -1), {"slice", "step of -1"}},
                  {"reversed", one({2, 3}), of(1, 2, 1), {"slice", "(2, 3)", "[2, 1)"}},
                  {"no such axis", one({2, 3}), of(2, 0, 1), {"(2, 3)", "axis 2"}}};
  out.value = out.gradient = {0};
  return out;
}

OpSamples select_samples() {
  const auto of = [](int axis, int64_t i) {
    return [=](const std::vector<Var>& in) { return select(in[0], axis, i); };
  };
  OpSamples out;
  out.samples = {{"typical", one({3, 4, 5}), of(1, 2)},
                 {"last axis", one({3, 4}), of(-1, 0)},
                 {"first axis", one({3, 4}), of(0, 2)},
                 {"size-1", one({1}), of(0, 0)},
                 {"empty", one({0, 4}), of(1, 3)}};
  out.refusals = {{"beyond the end", one({2, 3}), of(1, 3), {"select", "(2, 3)", "3", "axis 1"}},
                  {"negative", one({2, 3}), of(1, -4), {"select", "(2, 3)", "-4"}},
                  {"no such axis", one({2, 3}), of(2, 0), {"select", "(2, 3)", "axis 2"}}};
  out.value = out.gradient = {0};
  return out;
}

OpSamples squeeze_samples() {
  const auto of = [](int axis) { return [=](const std::vector<Var>& in) { return squeeze(in[0], axis); }; };
  OpSamples out;
  out.samples = {{"typical", one({3, 1, 5}), of(1)},
                 {"last axis", one({3, 1}), of(-1)},
                 {"size-1", one({1}), of(0)},
                 {"empty", one({0, 1, 4}), of(1)}};
  out.refusals = {{"a wider axis", one({2, 3}), of(1), {"squeeze", "(2, 3)", "axis 1"}}};
  out.value = out.gradient = {0};
  return out;
}

OpSamples unsqueeze_samples() {
  const auto of = [](int axis) { return [=](const std::vector<Var>& in) { return unsqueeze(in[0], axis); }; };
  OpSamples out;
  out.samples = {{"typical", one({3, 5}), of(1)},    {"first axis", one({3, 5}), of(0)},
                 {"last axis", one({3, 5}), of(-1)}, {"scalar", one({}), of(0)},
                 {"size-1", one({1}), of(1)},        {"empty", one({0, 4}), of(-2)}};
  out.refusals = {{"no such axis", one({2, 3}), of(3), {"unsqueeze", "(2, 3)", "axis 3"}}};
  out.value = out.gradient = {0};
  return out;
}

OpSamples expand_samples() {
  const auto to = [](Shape shape) { return [shape](const std::vector<Var>& in) { return expand(in[0], shape); }; };
  OpSamples out;
  out.samples = {{"typical", one({3, 1, 5}), to({3, 4, 5})},
                 {"new leading axis", one({5}), to({2, 3, 5})},
                 {"column", one({4, 1}), to({4, 7})},
                 {"same shape", one({3, 5}), to({3, 5})},
                 {"size-1", one({1}), to({6})},
                 {"scalar", one({}), to({2, 3})},
                 {"to nothing", one({1, 4}), to({0, 4})},
                 {"empty", one({0, 4}), to({3, 0, 4})}};
  out.refusals = {{"shapes", one({2, 3}), to({2, 4}), {"expand", "(2, 3)", "(2, 4)"}},
                  {"fewer axes", one({2, 3}), to({3}), {"expand", "(2, 3)", "(3)"}}};
  out.value = {0}, out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
