#include "engine/ops/rope/rope.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples rope_samples() {
  const auto turned = [](bool interleaved, double base = 10000.0) {
    return [=](const std::vector<Var>& in) { return rope(in[0], in[1].value(), base, interleaved); };
  };
  OpSamples out;
  for (const bool interleaved : {false, true}) {
    const std::string pairs = interleaved ? ", interleaved" : ", halves";
    const auto add = [&](const std::string& label, const Shape& x, const Shape& positions) {
      out.samples.push_back(
          {label + pairs, {normal("x", x), integers("positions", positions, 0, 300)}, turned(interleaved)});
    };
    add("typical", {2, 5, 3, 8}, {5});
    add("positions per sequence", {2, 5, 3, 8}, {2, 5});
    add("wide", {1, 3, 2, 80}, {3});
    add("no multiple of a vector", {2, 7, 2, 6}, {7});
    add("many tokens", {3, 37, 1, 4}, {3, 37});
    add("size-1", {1, 1, 1, 2}, {1});
    add("empty", {0, 3, 2, 4}, {3});
    add("no tokens", {2, 0, 2, 4}, {2, 0});
    out.samples.push_back({"before the origin, small base" + pairs,
                           {normal("x", {1, 4, 1, 4}), integers("positions", {4}, -9, 0)},
                           turned(interleaved, 10.0)});
  }
  // Frequencies given as a list: far apart, and one pair does not turn.
  const auto own = [](const std::vector<Var>& in) {
    const Tensor frequencies = Tensor::from<double>({3}, {1.0, 0.3, 0.0});
    return rope(in[0],
                engine::rope_table(in[1].value(), frequencies, false, engine::statistic_dtype(in[0].value().dtype())));
  };
  out.samples.push_back({"own frequencies", {normal("x", {2, 4, 3, 6}), integers("positions", {4}, 0, 900)}, own});
  // A table of many positions, of which a view is taken: the tokens from position 5 on.
  const auto later = [](const std::vector<Var>& in) {
    const Tensor& x = in[0].value();
    const Tensor positions = Tensor::from<int64_t>({9}, {0, 1, 2, 3, 4, 5, 6, 7, 8}).to(x.device());
    const Tensor frequencies = engine::rope_frequencies(8, 1e4);
    return rope(in[0],
                engine::rope_table(positions, frequencies, false, engine::statistic_dtype(x.dtype())).rows(5, 8));
  };
  out.samples.push_back({"rows of a table", {normal("x", {2, 3, 1, 8})}, later, [](const std::vector<Var>& in) {
                           return rope(in[0], Tensor::from<int64_t>({3}, {5, 6, 7}).to(in[0].value().device()));
                         }});
  const std::vector<Input> fitting{normal("x", {2, 5, 3, 8}), integers("positions", {5}, 0, 9)};
  out.refusals = {
      {"odd width",
       {normal("x", {2, 5, 3, 7}), integers("positions", {5}, 0, 9)},
       turned(false),
       {"rope", "(2, 5, 3, 7)"}},
      {"rank", {normal("x", {5, 3, 8}), integers("positions", {5}, 0, 9)}, turned(false), {"rope", "(5, 3, 8)"}},
      {"positions",
       {normal("x", {2, 5, 3, 8}), integers("positions", {3}, 0, 9)},
       turned(false),
       {"rope", "(3)", "(2, 5)"}},
      {"real positions", {normal("x", {2, 5, 3, 8}), normal("positions", {5})}, turned(false), {"rope", "i64"}},
      {"base", fitting, turned(false, -1.0), {"rope", "-1"}},
      {"frequencies", fitting, own, {"rope", "(5, 3, 6)", "(2, 5, 3, 8)"}},
      {"length", {normal("x", {2, 4, 1, 8})}, later, {"rope", "(3, 3, 8)", "(2, 4, 1, 8)"}}};
  out.value = out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
