#include "engine/ops/attention/attention.h"

#include <fmt/core.h>

#include "autograd/ops.h"
#include "autograd/product_operand.h"

namespace headroom::autograd {
namespace {

/// AttentionOptions without the mask, which is a tensor.
struct AttentionNumbers {
  bool causal;
  std::optional<double> scale;
  double dropout;
  engine::RngKey dropout_key;
  int64_t window;
};

}  // namespace

Var attention(const Var& q, const Var& k, const Var& v, const Var& slopes, const AttentionOptions& options) {
  const Tensor q_in = product_operand(q.value()), k_in = product_operand(k.value()), v_in = product_operand(v.value());
  const engine::Attention forward = engine::attention(q_in, k_in, v_in, slopes.value(), options);
  return record(
      "attention", forward.y, {q, k, v, slopes},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_q, const Tensor& kept_k, const Tensor& kept_v,
         const Tensor& kept_slopes, const Tensor& kept_key_mask, const Tensor& kept_y, const Tensor& kept_lse,
         const AttentionNumbers& kept_numbers) -> std::vector<Tensor> {
        const AttentionOptions kept_options{kept_numbers.causal,      kept_numbers.scale, kept_numbers.dropout,
                                            kept_numbers.dropout_key, kept_key_mask,      kept_numbers.window};
        auto [dq, dk, dv, dslopes] =
            engine::attention_grad(product_operand(dy), kept_q, kept_k, kept_v, kept_slopes, {kept_y, kept_lse},
                                   kept_options, {needs.place(0), needs.place(1), needs.place(2), {}});
        return {needs[0] ? dq : Tensor(), needs[1] ? dk : Tensor(), needs[2] ? dv : Tensor(),
                needs[3] ? dslopes : Tensor()};
      },
      saved("q", q_in), saved("k", k_in), saved("v", v_in), saved("slopes", slopes),
      saved("key_mask", options.key_mask), saved("y", forward.y), saved("lse", forward.lse),
      AttentionNumbers{options.causal, options.scale, options.dropout, options.dropout_key, options.window});
}

}  // namespace headroom::autograd
