#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

namespace {

/// The parts joined in reverse order, so that each must be itself.
Var reversed(std::vector<Var> parts, int axis) { return concat({parts.rbegin(), parts.rend()}, axis); }

}  // namespace

OpSamples split_samples() {
  const auto into = [](const std::vector<int64_t>& sizes, int axis) {
    return [=](const std::vector<Var>& in) { return reversed(split(in[0], sizes, axis), axis); };
  };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 7, 5})}, into({2, 4, 1}, 1)},
                 {"last axis", {normal("x", {3, 9})}, into({4, 5}, -1)},
                 {"first part of it",
                  {normal("x", {3, 9})},
                  [](const std::vector<Var>& in) {
                    return split(in[0], {4, 5}, 1)[0];
                  }},
                 {"an empty part", {normal("x", {5})}, into({0, 5}, 0)},
                 {"size-1", {normal("x", {1})}, into({1}, 0)},
                 {"empty", {normal("x", {0, 4})}, into({1, 3}, 1)}};
  out.refusals = {{"sizes", {normal("x", {2, 5})}, into({2, 2}, 1), {"split", "2 sizes", "(2, 5)"}},
                  {"negative", {normal("x", {5})}, into({6, -1}, 0), {"split", "2 sizes", "(5)"}},
                  {"axis", {normal("x", {2, 5})}, into({2}, 2), {"split", "axis 2", "(2, 5)"}}};
  out.value = out.gradient = {0};
  return out;
}

OpSamples chunk_samples() {
  const auto into = [](int64_t n, int axis) {
    return [=](const std::vector<Var>& in) { return reversed(chunk(in[0], n, axis), axis); };
  };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 6, 5})}, into(3, 1)},
                 {"last axis", {normal("x", {3, 8})}, into(2, -1)},
                 {"size-1", {normal("x", {1})}, into(1, 0)},
                 {"empty", {normal("x", {0, 4})}, into(2, 1)}};
  out.refusals = {{"a remainder", {normal("x", {2, 5})}, into(2, 1), {"chunk", "(2, 5)", "2"}},
                  {"no part", {normal("x", {2, 5})}, into(0, 1), {"chunk", "(2, 5)", "0"}}};
  out.value = out.gradient = {0};
  return out;
}

}  // namespace headroom::autograd
