// One generator of random calls per op. Ops of engine/ops/elementwise share theirs.
#include <algorithm>

#include "autograd/op_suite/data.h"
#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary_list.h"
#include "engine/ops/elementwise/comparison_list.h"
#include "engine/ops/elementwise/logical.h"
#include "engine/ops/elementwise/unary_list.h"
#include "tests/op_suite/quantized_data.h"
#include "tests/op_suite/registry.h"
#include "tests/peers/generators.h"

namespace headroom::peers {
namespace {

using namespace headroom::autograd;
using Vars = std::vector<Var>;

template <class F>
Generator unary_generator(const char* name, F op) {
  return [=](Random& random, DType dtype) -> Case {
    const std::string text = name;
    const bool positive = text == "log" || text == "sqrt" || text == "rsqrt";
    const Fill fill = random.chance(0.3) ? Fill{positive ? 1e-3 : -15, 15, true}
                      : positive         ? Fill{1e-6, 3, true}
                                         : Fill{0, 0, true};
    return {name, {drawn(random, "x", random.shape(0, 4), dtype, fill)}, [op](const Vars& in) { return op(in[0]); }};
  };
}

template <class F>
Generator binary_generator(const char* name, F op) {
  return [=](Random& random, DType dtype) -> Case {
    const Shape shape = random.shape(0, 4);
    Shape a = shape, b = broadcast_partner(random, shape);
    if (random.chance(0.5)) std::swap(a, b);
    return {name,
            {drawn(random, "a", a, dtype, {0, 0, true}), drawn(random, "b", b, dtype, {0, 0, true})},
            [op](const Vars& in) { return op(in[0], in[1]); }};
  };
}

template <class F>
Generator reduction_generator(const char* name, F op, bool needs_elements) {
  return [=](Random& random, DType dtype) -> Case {
    const Shape shape = random.shape(0, 4, !needs_elements);
    const std::vector<int> axes = random.axes(shape.rank());
    const bool keep = random.chance(0.5);
    return {name,
            {drawn(random, "x", shape, dtype)},
            [=](const Vars& in) { return op(in[0], axes, keep); },
            {{"axes", axes}, {"keep", keep}}};
  };
}

template <class F>
Generator row_generator(const char* name, F op) {
  return [=](Random& random, DType dtype) -> Case {
    return {name, {drawn(random, "x", random.shape(1, 4, false), dtype, {0, 0, false})}, [op](const Vars& in) {
              return op(in[0]);
            }};
  };
}

Case matmul_case(Random& random, DType dtype) {
  const Shape batch = random.shape(0, 2, false);
  const int64_t m = random.size(true), k = random.size(true), n = random.size(true);
  const bool ta = random.chance(0.4), tb = random.chance(0.4);
  const auto with = [](Shape shape, int64_t rows, int64_t columns) {
    shape.push_back(rows), shape.push_back(columns);
    return shape;
  };
  const Shape a = with(batch, ta ? k : m, ta ? m : k),
              b = with(broadcast_partner(random, batch), tb ? n : k, tb ? k : n);
  return {"matmul",
          {drawn(random, "a", a, dtype), drawn(random, "b", b, dtype)},
          [=](const Vars& in) { return matmul(in[0], in[1], ta, tb); },
          {{"transpose_a", ta}, {"transpose_b", tb}}};
}

Case linear_case(Random& random, DType dtype) {
  Shape x = random.shape(0, 3);
  const int64_t in_width = random.size(), out_width = random.size();
  x.push_back(in_width);
  Case out{"linear",
           {drawn(random, "x", x, dtype), drawn(random, "weight", {out_width, in_width}, dtype)},
           [](const Vars& in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Var()); }};
  if (random.chance(0.5)) out.inputs.push_back(drawn(random, "bias", {out_width}, dtype));
  return out;
}

Case quantized_linear_case(Random& random, DType dtype) {
  using engine::BlockFormat;
  const BlockFormat formats[] = {BlockFormat::q8_0, BlockFormat::q4_0, BlockFormat::q4_1,   BlockFormat::q5_0,
                                 BlockFormat::q5_1, BlockFormat::q4_k, BlockFormat::q6_k,   BlockFormat::q2_k,
                                 BlockFormat::q3_k, BlockFormat::q5_k, BlockFormat::iq4_nl, BlockFormat::iq4_xs,
                                 BlockFormat::mxfp4};
  const BlockFormat format = formats[random.integer(0, 12)];
  const int64_t block = engine::traits_of(format).elements, in_width = block * random.integer(1, 512 / block),
                out_width = random.size();
  Shape x = random.shape(0, 2);
  x.push_back(in_width);
  const engine::QuantizedMatrix weight =
      autograd::op_suite::random_blocks(std::to_string(random.integer(0, 1 << 30)), format, out_width, in_width);
  Case out{"quantized_linear",
           {drawn(random, "x", x, dtype), {"weight", weight.dequantize(dtype), false}},
           [=](const Vars& in) { return quantized_linear(in[0], weight, in.size() > 2 ? in[2] : Var()); }};
  if (random.chance(0.5)) out.inputs.push_back(drawn(random, "bias", {out_width}, dtype));
  return out;
}

Case rope_case(Random& random, DType dtype) {
  const int64_t batch = random.integer(1, 3), length = random.size();
  const bool per_sequence = random.chance(0.3), interleaved = random.chance(0.5);
  const double base = random.chance(0.5) ? 10000 : 100;
  return {"rope",
          {drawn(random, "x", {batch, length, random.integer(1, 4), 2 * random.size()}, dtype),
           drawn_integers(random, "positions", per_sequence ? Shape{batch, length} : Shape{length}, 0, 200)},
          [=](const Vars& in) { return rope(in[0], in[1].value(), base, interleaved); },
          {{"base", base}, {"interleaved", interleaved}}};
}

Case attention_case(Random& random, DType dtype) {
  const int64_t batch = random.integer(1, 3), kv = random.integer(1, 3), heads = kv * random.integer(1, 3);
  const int64_t queries = random.size(), keys = random.chance(0.6) ? queries : random.size();
  const int64_t qk_dim = random.integer(1, 20), v_dim = random.integer(1, 20);
  AttentionOptions options;
  options.causal = random.chance(0.5) && keys >= queries;
  if (random.chance(0.4)) options.scale = 0.1 + random.uniform();
  Case out{"attention",
           {drawn(random, "q", {batch, queries, heads, qk_dim}, dtype, {-2, 2}),
            drawn(random, "k", {batch, keys, kv, qk_dim}, dtype, {-2, 2}),
            drawn(random, "v", {batch, keys, kv, v_dim}, dtype)},
           nullptr,
           {{"causal", options.causal}, {"scale", options.scale ? Json(*options.scale) : Json()}}};
  const bool has_slopes = random.chance(0.4), has_mask = random.chance(0.4);
  if (has_slopes) out.inputs.push_back(drawn(random, "slopes", {heads}, dtype, {0.01, 1}));
  if (has_mask) out.inputs.push_back(drawn_mask(random, "key_mask", {batch, keys}, 0.7));
  out.run = [=](const Vars& in) {
    AttentionOptions own = options;
    if (has_mask) own.key_mask = in.back().value();
    return attention(in[0], in[1], in[2], has_slopes ? in[3] : Var(), own);
  };
  return out;
}

Case norm_case(const std::string& op, Random& random, DType dtype) {
  Shape x = random.shape(0, 3);
  const int64_t width = random.size();
  x.push_back(width);
  const double eps = random.chance(0.5) ? 1e-5 : 1e-2;
  Case out{op,
           {drawn(random, "x", x, dtype), drawn(random, "weight", {width}, dtype, {-2, 2})},
           [=](const Vars& in) {
             return op == "rms_norm" ? rms_norm(in[0], in[1], eps)
                                     : layer_norm(in[0], in[1], in.size() > 2 ? in[2] : Var(), eps);
           },
           {{"eps", eps}}};
  if (op == "layer_norm" && random.chance(0.6)) out.inputs.push_back(drawn(random, "bias", {width}, dtype));
  return out;
}

Case cross_entropy_case(Random& random, DType dtype) {
  const Shape targets = random.shape(0, 2, false);
  Shape logits = targets;
  const int64_t classes = random.size();
  logits.push_back(classes);
  const bool is_mean = random.chance(0.5);
  const int64_t ignore = random.chance(0.3) ? random.integer(0, classes - 1) : -100;
  return {"cross_entropy",
          {drawn(random, "logits", logits, dtype), drawn_integers(random, "targets", targets, 0, classes - 1)},
          [=](const Vars& in) {
            return cross_entropy(in[0], in[1].value(), is_mean ? Reduction::mean : Reduction::sum, ignore);
          },
          {{"mean", is_mean}, {"ignore", ignore}}};
}

Case kl_divergence_case(Random& random, DType dtype) {
  Shape shape = random.shape(0, 2, false);
  shape.push_back(random.size());
  const bool is_mean = random.chance(0.5);
  return {"kl_divergence",
          {drawn(random, "logits", shape, dtype), drawn(random, "teacher", shape, dtype)},
          [=](const Vars& in) {
            return kl_divergence(in[0], in[1].value(), {}, is_mean ? Reduction::mean : Reduction::sum);
          },
          {{"mean", is_mean}}};
}

Case mse_case(Random& random, DType dtype) {
  const Shape shape = random.shape(0, 3, false);
  const bool is_mean = random.chance(0.5);
  return {"mse",
          {drawn(random, "prediction", shape, dtype), drawn(random, "target", shape, dtype)},
          [=](const Vars& in) { return mse(in[0], in[1], is_mean ? Reduction::mean : Reduction::sum); },
          {{"mean", is_mean}}};
}

Case where_case(Random& random, DType dtype) {
  const Shape shape = random.shape(0, 3);
  return {"where",
          {drawn_mask(random, "condition", broadcast_partner(random, shape), 0.5),
           drawn(random, "a", shape, dtype, {0, 0, true}),
           drawn(random, "b", broadcast_partner(random, shape), dtype, {0, 0, true})},
          [](const Vars& in) { return where(in[0].value(), in[1], in[2]); }};
}

Case masked_fill_case(Random& random, DType dtype) {
  const Shape shape = random.shape(0, 3);
  const double value = random.chance(0.3) ? -1e9 : random.normal();
  return {"masked_fill",
          {drawn(random, "x", shape, dtype), drawn_mask(random, "mask", broadcast_partner(random, shape), 0.4)},
          [=](const Vars& in) { return masked_fill(in[0], in[1].value(), value); },
          {{"value", value}}};
}

/// What is kept goes to the peer as a mask: the random bits are ours.
Case dropout_case(Random& random, DType dtype) {
  const Shape shape = random.shape(0, 3);
  const double p = random.chance(0.2) ? 0 : 0.9 * random.uniform();
  const engine::RngKey key{static_cast<uint64_t>(random.integer(0, 1 << 30)), 3, 0};
  const Tensor kept = dropout(Var(Tensor::full(shape, 1, DType::f32)), p, key).value();
  return {"dropout",
          {drawn(random, "x", shape, dtype), {"kept", kept.to(DType::boolean), false}},
          [=](const Vars& in) { return dropout(in[0], p, key); },
          {{"p", p}}};
}

Case swiglu_case(Random& random, DType dtype) {
  const Shape shape = random.shape(0, 3);
  const Fill gate = random.chance(0.3) ? Fill{-100, 100, true} : Fill{0, 0, true};
  return {"swiglu", {drawn(random, "gate", shape, dtype, gate), drawn(random, "up", shape, dtype)}, [](const Vars& in) {
            return swiglu(in[0], in[1]);
          }};
}

Case scale_case(Random& random, DType dtype) {
  const double factor = 10 * random.normal();
  return {"scale",
          {drawn(random, "x", random.shape(0, 4), dtype, {0, 0, true})},
          [=](const Vars& in) { return scale(in[0], factor); },
          {{"factor", factor}}};
}

/// A comparison or an operation on masks, whose result has no gradient.
template <class F>
Generator comparison_generator(const char* name, F op, bool of_masks) {
  return [=](Random& random, DType dtype) -> Case {
    const Shape shape = random.shape(0, 4), other = broadcast_partner(random, shape);
    // Few values, so that some are equal.
    const auto operand = [&](const char* label, const Shape& own) {
      Operand x = of_masks ? drawn_mask(random, label, own, 0.5) : drawn_integers(random, label, own, -2, 2);
      if (!of_masks) x.value = x.value.to(dtype);
      x.differentiable = false;
      return x;
    };
    return {name, {operand("a", shape), operand("b", other)}, [op](const Vars& in) {
              return Var(op(in[0].value(), in[1].value()));
            }};
  };
}

Case variance_case(Random& random, DType dtype) {
  Shape shape = random.shape(0, 3, false);
  shape.push_back(random.integer(2, 40));
  std::vector<int> axes = random.axes(shape.rank());
  axes.erase(std::remove_if(axes.begin(), axes.end(), [&](int a) { return a == -1 || a == shape.rank() - 1; }),
             axes.end());
  axes.push_back(-1);  // more elements than the correction
  const bool keep = random.chance(0.5);
  const int64_t correction = random.integer(0, 1);
  return {"variance",
          {drawn(random, "x", shape, dtype)},
          [=](const Vars& in) { return variance(in[0], axes, keep, correction); },
          {{"axes", axes}, {"keep", keep}, {"correction", correction}}};
}

Case clamp_case(Random& random, DType dtype) {
  const double low = random.normal(), high = low + 2 * random.uniform();
  return {"clamp",
          {drawn(random, "x", random.shape(0, 4), dtype, {0, 0, true})},
          [=](const Vars& in) { return clamp(in[0], low, high); },
          {{"low", low}, {"high", high}}};
}

Case pow_case(Random& random, DType dtype) {
  const Shape shape = random.shape(0, 3);
  return {"pow",
          {drawn(random, "a", shape, dtype, {0.05, 5}),
           drawn(random, "b", broadcast_partner(random, shape), dtype, {-6, 6})},
          [](const Vars& in) { return pow(in[0], in[1]); }};
}

const Generators& generators() {
  static const Generators all = [] {
    Generators table{
#define HEADROOM_UNARY(NAME, FUNCTOR) {#NAME, unary_generator(#NAME, [](const Var& x) { return NAME(x); })},
#define HEADROOM_BINARY(NAME, FUNCTOR) \
  {#NAME, binary_generator(#NAME, [](const Var& a, const Var& b) { return NAME(a, b); })},
        HEADROOM_UNARY_OPS(HEADROOM_UNARY) HEADROOM_BINARY_OPS(HEADROOM_BINARY)
#undef HEADROOM_UNARY
#undef HEADROOM_BINARY
#define HEADROOM_COMPARISON(NAME, FUNCTOR) \
  {#NAME, comparison_generator(            \
              #NAME, [](const Tensor& a, const Tensor& b) { return engine::NAME(a, b); }, false)},
            HEADROOM_COMPARISONS(HEADROOM_COMPARISON)
#undef HEADROOM_COMPARISON
                {"argmax",
                 reduction_generator(
                     "argmax",
                     [](const Var& x, const std::vector<int>& axes, bool keep) { return Var(argmax(x, axes, keep)); },
                     true)},
        {"argmin",
         reduction_generator(
             "argmin", [](const Var& x, const std::vector<int>& axes, bool keep) { return Var(argmin(x, axes, keep)); },
             true)},
        {"min",
         reduction_generator(
             "min", [](const Var& x, const std::vector<int>& axes, bool keep) { return min(x, axes, keep); }, true)},
        {"logical_and",
         comparison_generator(
             "logical_and", [](const Tensor& a, const Tensor& b) { return engine::logical_and(a, b); }, true)},
        {"logical_or",
         comparison_generator(
             "logical_or", [](const Tensor& a, const Tensor& b) { return engine::logical_or(a, b); }, true)},
        {"logical_xor",
         comparison_generator(
             "logical_xor", [](const Tensor& a, const Tensor& b) { return engine::logical_xor(a, b); }, true)},
        {"logical_not",
         [](Random& random, DType) -> Case {
           return {"logical_not", {drawn_mask(random, "x", random.shape(0, 4), 0.5)}, [](const Vars& in) {
                     return Var(engine::logical_not(in[0].value()));
                   }};
         }},
        {"clamp", clamp_case},
        {"pow", pow_case},
        {"variance", variance_case},
        {"attention", attention_case},
        {"cross_entropy", cross_entropy_case},
        {"kl_divergence", kl_divergence_case},
        {"dropout", dropout_case},
        {"linear", linear_case},
        {"log_softmax", row_generator("log_softmax", [](const Var& x) { return log_softmax(x); })},
        {"masked_fill", masked_fill_case},
        {"matmul", matmul_case},
        {"max",
         reduction_generator(
             "max", [](const Var& x, const std::vector<int>& axes, bool keep) { return max(x, axes, keep); }, true)},
        {"mean",
         reduction_generator(
             "mean", [](const Var& x, const std::vector<int>& axes, bool keep) { return mean(x, axes, keep); }, true)},
        {"mse", mse_case},
        {"quantized_linear", quantized_linear_case},
        {"rope", rope_case},
        {"scale", scale_case},
        {"softmax", row_generator("softmax", [](const Var& x) { return softmax(x); })},
        {"sum",
         reduction_generator(
             "sum", [](const Var& x, const std::vector<int>& axes, bool keep) { return sum(x, axes, keep); }, false)},
        {"swiglu", swiglu_case},
        {"where", where_case}};
    add_shape_generators(table);
    for (const char* name : {"layer_norm", "rms_norm"})
      table[name] = [name](Random& random, DType dtype) { return norm_case(name, random, dtype); };
    return table;
  }();
  return all;
}

/// An op without a generator: one of its samples with other values.
Case sample_case(const std::string& op, Random& random, DType dtype) {
  for (const autograd::OpEntry& entry : autograd::op_registry()) {
    if (entry.name != op) continue;
    const std::vector<autograd::Sample> samples = entry.samples().samples;
    const autograd::Sample& sample =
        samples[static_cast<size_t>(random.integer(0, static_cast<int64_t>(samples.size()) - 1))];
    const std::string name = op + "/" + sample.label + "/" + std::to_string(random.integer(0, 1 << 30));
    const std::vector<Tensor> data = autograd::op_suite::make_data(name, sample.inputs, dtype);
    Case out{op, {}, sample.run, {{"sample", sample.label}}};
    for (size_t i = 0; i < data.size(); ++i)
      out.inputs.push_back({sample.inputs[i].name, data[i], sample.inputs[i].differentiable()});
    return out;
  }
  fail("peer cases: there is no op '{}'", op);
}

}  // namespace

Case random_case(const std::string& op, Random& random, DType dtype) {
  const auto found = generators().find(op);
  return found == generators().end() ? sample_case(op, random, dtype) : found->second(random, dtype);
}

}  // namespace headroom::peers
