#include "engine/ops/gather/gather.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

OpSamples gather_samples() {
  const auto along = [](int axis) {
    return [axis](const std::vector<Var>& in) { return gather(in[0], axis, in[1].value()); };
  };
  const auto inputs = [](const Shape& x, const Shape& index, int64_t n) {
    return std::vector<Input>{normal("x", x), integers("index", index, 0, n)};
  };
  OpSamples out;
  out.samples = {{"typical", inputs({3, 5, 7}, {3, 4, 7}, 5), along(1)},
                 {"last axis", inputs({4, 9}, {4, 1}, 9), along(-1)},
                 {"first axis", inputs({5, 3}, {8, 3}, 5), along(0)},
                 {"broadcast index", inputs({3, 5, 7}, {1, 4, 7}, 5), along(1)},
                 {"whole slices", inputs({3, 5, 7}, {3, 2, 1}, 5), along(1)},
                 {"one list", inputs({3, 5, 7}, {1, 6, 1}, 5), along(1)},
                 {"partly broadcast", inputs({2, 3, 5, 7}, {2, 1, 4, 1}, 5), along(2)},
                 {"wide", inputs({6, 1031}, {9, 1031}, 6), along(0)},
                 {"crowded", inputs({2, 3}, {2, 300}, 3), along(1)},
                 {"i32 index", inputs({3, 5}, {3, 2}, 5),
                  [](const std::vector<Var>& in) { return gather(in[0], 1, in[1].value().to(engine::DType::i32)); }},
                 {"size-1", inputs({1}, {1}, 1), along(0)},
                 {"nothing taken", inputs({3, 5}, {3, 0}, 5), along(1)},
                 {"empty", inputs({0, 5}, {0, 2}, 5), along(1)}};
  out.refusals = {{"index",
                   {normal("x", {3, 5}), integers("index", {3, 2}, 5, 6)},
                   along(1),
                   {"index 5", "outside [0, 5)", "(3, 5)"},
                   true},
                  {"negative", {normal("x", {3, 5}), integers("index", {3, 1}, -1, 0)}, along(1), {"index -1"}, true},
                  {"shapes", inputs({3, 5}, {2, 2}, 5), along(1), {"gather", "(3, 5)", "(2, 2)", "axis 1"}},
                  {"ranks", inputs({3, 5}, {3}, 5), along(1), {"gather", "(3, 5)", "(3)"}},
                  {"axis", inputs({3, 5}, {3, 5}, 3), along(2), {"gather", "axis 2", "(3, 5)"}},
                  {"floating index", {normal("x", {3}), normal("index", {3})}, along(0), {"gather", "i64"}}};
  out.value = {0}, out.gradient = {4, 1e-6};
  return out;
}

OpSamples index_select_samples() {
  const auto along = [](int axis) {
    return [axis](const std::vector<Var>& in) { return index_select(in[0], axis, in[1].value()); };
  };
  const auto inputs = [](const Shape& x, int64_t m, int64_t n) {
    return std::vector<Input>{normal("x", x), integers("indices", {m}, 0, n)};
  };
  OpSamples out;
  out.samples = {{"typical", inputs({3, 5, 7}, 4, 5), along(1)},    {"last axis", inputs({3, 70}, 90, 70), along(-1)},
                 {"first axis", inputs({5, 70}, 9, 5), along(0)},   {"size-1", inputs({1}, 1, 1), along(0)},
                 {"nothing taken", inputs({3, 5}, 0, 5), along(1)}, {"empty", inputs({0, 5}, 2, 5), along(1)}};
  const Input pair = integers("indices", {2, 2}, 0, 3);
  out.refusals = {{"indices of two axes", {normal("x", {3, 5}), pair}, along(1), {"index_select", "(2, 2)", "(3, 5)"}},
                  {"axis", inputs({3, 5}, 2, 3), along(2), {"index_select", "axis 2", "(3, 5)"}}};
  out.value = {0}, out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
