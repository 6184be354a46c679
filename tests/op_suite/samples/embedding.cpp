#include "engine/ops/embedding/embedding.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples embedding_samples() {
  const auto run = [](const std::vector<Var>& in) { return embedding(in[0], in[1].value()); };
  const auto inputs = [](Shape table, Shape indices) {
    const int64_t vocabulary = table[0];
    return std::vector<Input>{normal("table", table), integers("indices", indices, 0, vocabulary)};
  };
  OpSamples out;
  out.samples = {{"typical", inputs({7, 5}, {2, 9}), run},
                 {"wide", inputs({5, 131}, {4, 6}), run},
                 {"sparse", inputs({1031, 9}, {6}), run},
                 {"crowded", inputs({3, 70}, {2, 257}), run},
                 {"one index", inputs({4, 3}, {}), run},
                 {"i32 indices", inputs({7, 5}, {2, 3}),
                  [](const std::vector<Var>& in) { return embedding(in[0], in[1].value().to(engine::DType::i32)); }},
                 {"size-1", inputs({1, 1}, {1}), run},
                 {"empty", inputs({7, 5}, {0, 2}), run},
                 {"empty width", inputs({7, 0}, {2}), run}};
  const Input indices = integers("indices", {2, 3}, 9, 10);
  out.refusals = {
      {"index",
       {normal("table", {9, 5}), indices},
       run,
       {"embedding", "index 9", "position 0", "[0, 9)", "(9, 5)", "(2, 3)"},
       true},
      {"negative index",
       {normal("table", {9, 5}), integers("indices", {1}, -1, 0)},
       run,
       {"embedding", "index -1"},
       true},
      {"table", {normal("table", {9}), indices}, run, {"embedding", "(9)", "(V, C)"}},
      {"floating indices", {normal("table", {9, 5}), normal("indices", {3})}, run, {"embedding", "(3)", "i64"}}};
  out.value = {0}, out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
