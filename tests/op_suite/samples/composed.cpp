// The ops of autograd/ops/composed.h, which have no kernels of their own.
#include "autograd/ops/composed.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {
namespace {

using Inputs = std::vector<Input>;
using Call = std::function<Var(const std::vector<Var>&)>;

Inputs of_shape(const Shape& shape) { return {normal("x", shape)}; }

/// Samples and a refusal of an axis for ops along one axis of x.
OpSamples along_axis(const char* name, const std::function<Var(const Var&, int)>& op) {
  const auto by = [op](int axis) -> Call { return [=](const std::vector<Var>& in) { return op(in[0], axis); }; };
  OpSamples out;
  out.samples = {{"typical", of_shape({3, 5, 7}), by(1)},
                 {"long", of_shape({2, 1031}), by(-1)},
                 {"first axis", of_shape({5, 3}), by(0)},
                 {"size-1", of_shape({1}), by(0)},
                 {"empty", of_shape({0, 4}), by(1)}};
  out.refusals = {{"axis", of_shape({2, 3}), by(2), {name, "axis 2", "(2, 3)"}}};
  out.value = out.gradient = {0};
  return out;
}

/// The same for ops over several axes.
OpSamples over_axes(Var (*op)(const Var&, const std::vector<int>&, bool)) {
  const auto over = [op](const std::vector<int>& axes, bool keep = false) -> Call {
    return [=](const std::vector<Var>& in) { return op(in[0], axes, keep); };
  };
  OpSamples out;
  out.samples = {{"typical", of_shape({3, 5, 7}), over({1})},
                 {"all", of_shape({3, 5}), over({})},
                 {"long", of_shape({2, 1031}), over({-1}, true)},
                 {"two axes", of_shape({3, 5, 7}), over({0, 2})},
                 {"size-1", of_shape({1}), over({0})},
                 {"empty", of_shape({0, 4}), over({1})}};
  out.refusals = {{"axis", of_shape({2, 3}), over({2}), {"axis 2", "(2, 3)"}}};
  out.value = {6, 1e-6}, out.gradient = {8, 2e-6};
  return out;
}

/// The same for losses of two operands of one shape; the second is in [0, 1].
OpSamples losses(const char* name, const std::string& a, const std::string& b,
                 const std::function<Var(const Var&, const Var&, Reduction)>& op) {
  const auto by = [op](Reduction reduction) -> Call {
    return [=](const std::vector<Var>& in) { return op(in[0], in[1], reduction); };
  };
  const auto pair = [&](const Shape& x, const Shape& y) { return Inputs{normal(a, x), uniform(b, y, 0, 1)}; };
  const Call mean_of = by(Reduction::mean);
  OpSamples out;
  out.samples = {{"typical", pair({3, 5, 7}, {3, 5, 7}), mean_of},
                 {"sum", pair({3, 5}, {3, 5}), by(Reduction::sum)},
                 {"long", pair({2, 1031}, {2, 1031}), mean_of},
                 {"size-1", pair({1}, {1}), mean_of},
                 {"empty", pair({0, 4}, {0, 4}), mean_of}};
  out.refusals = {{"shapes", pair({2, 3}, {3}), mean_of, {name, "(2, 3)", "(3)"}}};
  out.value = {4, 1e-6}, out.gradient = {8, 1e-6};
  return out;
}

OpSamples triangles(const char* name, Var (*op)(const Var&, int64_t)) {
  const auto of = [op](int64_t k) -> Call { return [=](const std::vector<Var>& in) { return op(in[0], k); }; };
  OpSamples out;
  out.samples = {{"typical", of_shape({3, 5, 7}), of(0)}, {"above", of_shape({6, 4}), of(2)},
                 {"below", of_shape({4, 6}), of(-1)},     {"nothing", of_shape({3, 3}), of(-9)},
                 {"size-1", of_shape({1, 1}), of(0)},     {"empty", of_shape({2, 0, 3}), of(0)}};
  out.refusals = {{"rank", of_shape({3}), of(0), {name, "(3)", "no matrix"}}};
  out.value = out.gradient = {0};
  return out;
}

}  // namespace

OpSamples cumsum_samples() {
  OpSamples out = along_axis("cumsum", cumsum);
  out.value = {4, 1e-6}, out.gradient = {4, 1e-6};
  return out;
}
OpSamples sort_samples() {
  OpSamples out = along_axis("sort", [](const Var& x, int axis) { return sort(x, axis, axis == 0).first; });
  out.samples[1].inputs = of_shape({2, 33});  // among more, some are so near that central differences reorder them
  return out;
}
OpSamples topk_samples() {
  OpSamples out = along_axis("topk", [](const Var& x, int axis) { return topk(x, 1, axis).first; });
  out.refusals.push_back({"too many",
                          of_shape({2, 3}),
                          [](const std::vector<Var>& in) { return topk(in[0], 4).first; },
                          {"topk", "4 of axis -1", "(2, 3)"}});
  return out;
}

OpSamples scatter_add_samples() {
  const auto along = [](int axis) -> Call {
    return [=](const std::vector<Var>& in) { return scatter_add(in[0], axis, in[1].value(), in[2]); };
  };
  const auto inputs = [](const Shape& x, const Shape& index, const Shape& source, int64_t n) {
    return Inputs{normal("x", x), integers("index", index, 0, n), normal("source", source)};
  };
  OpSamples out;
  out.samples = {{"typical", inputs({3, 5, 7}, {3, 4, 7}, {3, 4, 7}, 5), along(1)},
                 {"crowded", inputs({2, 3}, {2, 300}, {2, 300}, 3), along(-1)},
                 {"whole slices", inputs({5, 3}, {8, 1}, {8, 3}, 5), along(0)},
                 {"size-1", inputs({1}, {1}, {1}, 1), along(0)},
                 {"empty", inputs({0, 5}, {0, 2}, {0, 2}, 5), along(1)}};
  out.refusals = {
      {"shapes", inputs({3, 5}, {2, 2}, {2, 2}, 5), along(1), {"scatter_add", "(3, 5)", "(2, 2)", "axis 1"}}};
  out.value = out.gradient = {4, 1e-6};
  return out;
}

OpSamples logsumexp_samples() { return over_axes(logsumexp); }
OpSamples l2_norm_samples() { return over_axes(l2_norm); }
OpSamples tril_samples() { return triangles("tril", tril); }
OpSamples triu_samples() { return triangles("triu", triu); }

OpSamples pad_samples() {
  OpSamples out = along_axis("pad", [](const Var& x, int axis) { return pad(x, axis, 2, 1, 0.5); });
  out.refusals.push_back({"fewer",
                          of_shape({2, 3}),
                          [](const std::vector<Var>& in) { return pad(in[0], 0, -1, 0); },
                          {"pad", "-1 before", "(2, 3)"}});
  return out;
}

/// The matmul inside sums a strided matrix where it lies, which may be in another order than its contiguous copy.
void sum_in_any_order(OpSamples& all) {
  for (Sample& sample : all.samples) sample.tolerances.strided = {4, 4e-6};
}

OpSamples einsum_samples() {
  const auto of = [](const std::string& equation) -> Call {
    return [=](const std::vector<Var>& in) { return einsum(equation, in); };
  };
  const auto pair = [](const Shape& a, const Shape& b) { return Inputs{normal("0", a), normal("1", b)}; };
  OpSamples out;
  out.samples = {{"product", pair({3, 5}, {5, 4}), of("ij,jk->ik")},
                 {"batch, transposed", pair({2, 5, 3}, {2, 4, 5}), of("bdq, bkd -> kbq")},
                 {"outer", pair({3}, {4}), of("i,j->ij")},
                 {"dot", pair({6}, {6}), of("i,i->")},
                 {"sums of one", pair({3, 4}, {5, 3, 2}), of("ik,bij->bj")},
                 {"three", {normal("0", {3, 4}), normal("1", {4, 5}), normal("2", {5, 3})}, of("ij,jk,kl->il")},
                 {"one operand", of_shape({3, 4, 5}), of("ijk->ki")},
                 {"size-1", pair({1}, {1}), of("i,i->i")},
                 {"empty", pair({0, 5}, {5, 4}), of("ij,jk->ik")}};
  sum_in_any_order(out);
  out.refusals = {{"sizes", pair({3, 5}, {4, 2}), of("ij,jk->ik"), {"einsum", "'j'", "5 and 4", "(4, 2)"}},
                  {"rank", pair({3, 5}, {4}), of("ij,jk->ik"), {"einsum", "'jk'", "(4)"}},
                  {"no arrow", of_shape({3}), of("i"), {"einsum", "'->'"}},
                  {"operands", of_shape({3}), of("i,i->"), {"einsum", "2 operands, given 1"}},
                  {"twice", of_shape({3, 3}), of("ii->i"), {"einsum", "'i' is twice"}},
                  {"no letter", of_shape({3}), of("1->1"), {"einsum", "'1'"}},
                  {"result", of_shape({3}), of("i->j"), {"einsum", "'j' on the right"}}};
  out.value = {4, 1e-6}, out.gradient = {4, 1e-6};
  return out;
}

OpSamples conv1d_samples() {
  const auto with = [](const Conv1dOptions& options) -> Call {
    return [=](const std::vector<Var>& in) { return conv1d(in[0], in[1], in.size() > 2 ? in[2] : Var(), options); };
  };
  const auto inputs = [](const Shape& x, const Shape& weight) {
    return Inputs{normal("x", x), normal("weight", weight), normal("bias", {weight[0]})};
  };
  OpSamples out;
  out.samples = {{"typical", inputs({2, 3, 9}, {4, 3, 3}), with({})},
                 {"causal", inputs({2, 3, 9}, {4, 3, 3}), with({.dilation = 2, .before = 4})},
                 {"steps", inputs({2, 2, 17}, {3, 2, 4}), with({.stride = 3, .before = 1, .after = 2})},
                 {"no bias", {normal("x", {1, 2, 5}), normal("weight", {2, 2, 2})}, with({})},
                 {"size-1", inputs({1, 1, 1}, {1, 1, 1}), with({})},
                 {"empty", inputs({0, 3, 9}, {4, 3, 3}), with({})}};
  sum_in_any_order(out);
  out.refusals = {{"channels", inputs({2, 3, 9}, {4, 2, 3}), with({}), {"conv1d", "(2, 3, 9)", "(4, 2, 3)"}},
                  {"too short", inputs({2, 3, 2}, {4, 3, 3}), with({}), {"conv1d", "3 taps", "(2, 3, 2)"}},
                  {"stride", inputs({2, 3, 9}, {4, 3, 3}), with({.stride = 0}), {"conv1d", "stride 0"}}};
  out.value = {4, 1e-6}, out.gradient = {4, 1e-6};
  return out;
}

OpSamples l1_samples() { return losses("l1", "prediction", "target", l1); }
OpSamples huber_samples() {
  return losses("huber", "prediction", "target",
                [](const Var& a, const Var& b, Reduction reduction) { return huber(a, b, 0.75, reduction); });
}
OpSamples bce_with_logits_samples() { return losses("bce_with_logits", "logits", "targets", bce_with_logits); }

}  // namespace headroom::autograd
