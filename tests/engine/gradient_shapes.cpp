// Gradient formulas are public, too: operands whose shapes do not fit are errors, not reads beyond the end.
#include "engine/error.h"
#include "engine/ops/attention/attention.h"
#include "engine/ops/elementwise/activations.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/layer_norm/layer_norm.h"
#include "engine/ops/linear/linear.h"
#include "engine/ops/log_softmax/log_softmax.h"
#include "engine/ops/quantized_linear/quantized_linear.h"
#include "engine/ops/rms_norm/rms_norm.h"
#include "engine/ops/softmax/softmax.h"
#include "engine/ops/swiglu/swiglu.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine;
using testing::contains;

namespace {
Tensor of(const Shape& shape) { return Tensor::full(shape, 0.5); }
}  // namespace

TEST_CASE("gradients: dy of another shape") {
  const Tensor dy = of({2, 3}), x = of({2, 30000});
  CHECK_THROWS_WITH(exp_grad(x, {}, dy), contains("exp_grad: shapes differ: dy f32 (2, 30000), y f32 (2, 3)"));
  CHECK_THROWS_WITH(gelu_grad(x, dy, {}), contains("gelu_grad: shapes differ"));
  CHECK_THROWS_WITH(softmax_grad(dy, x), contains("softmax_grad: shapes differ: dy f32 (2, 3), y f32 (2, 30000)"));
  CHECK_THROWS_WITH(log_softmax_grad(x, dy), contains("log_softmax_grad: shapes differ"));
  CHECK_THROWS_AS(softmax_grad(of({}), of({})), Error);
  CHECK_THROWS_WITH(swiglu_grad(dy, x, x, true, true), contains("swiglu_grad: shapes differ"));
  CHECK_THROWS_WITH(swiglu_grad(x, x, dy, true, true), contains("swiglu_grad: shapes differ"));
  CHECK_THROWS_AS(linear_grad(dy, of({2, 7}), of({4, 7}), true, false, false, true), Error);
  CHECK_THROWS_AS(linear_grad(dy, of({5, 7}), of({3, 7}), false, true, false, true), Error);
}

TEST_CASE("gradients: a norm's statistics of another shape") {
  const Tensor x = of({4, 8}), w = of({8}), rows = of({4}), few = of({1});
  CHECK_THROWS_WITH(layer_norm_grad(of({1, 8}), x, w, rows, rows, true, true), contains("do not fit x (4, 8)"));
  CHECK_THROWS_WITH(layer_norm_grad(x, x, w, few, rows, true, true), contains("layer_norm_grad: dy (4, 8), mean (1)"));
  CHECK_THROWS_WITH(layer_norm_grad(x, x, few, rows, rows, true, true), contains("weight has 1"));
  CHECK_THROWS_WITH(rms_norm_grad(x, x, w, few, true, true), contains("rms_norm_grad: dy (4, 8) and inv_rms (1)"));
  CHECK_THROWS_WITH(rms_norm_grad(x, x, few, rows, true, true), contains("weight has 1"));
  CHECK_THROWS_WITH(rms_norm_grad(x, x, w, rows, true, true, few),
                    contains("rms_norm_grad: added f32 (1) does not fit"));
  CHECK_THROWS_WITH(layer_norm_grad(x, x, w, rows, rows, true, true, few), contains("layer_norm_grad: added f32 (1)"));
}

TEST_CASE("gradients: attention's and a quantised matrix's") {
  const Tensor q = of({1, 3, 2, 4}), k = of({1, 5, 2, 4}), v = of({1, 5, 2, 6}), y = of({1, 3, 2, 6});
  const Attention forward = attention(q, k, v, {}, {});
  CHECK_THROWS_WITH(attention_grad(of({1, 1, 2, 6}), q, k, v, {}, forward, {}),
                    contains("attention_grad: dy (1, 1, 2, 6)"));
  CHECK_THROWS_WITH(attention_grad(y, q, k, v, {}, {of({1}), forward.lse}, {}), contains("y (1)"));
  CHECK_THROWS_WITH(attention_grad(y, q, k, v, {}, {forward.y, of({1, 2, 1})}, {}), contains("lse (1, 2, 1)"));
  CHECK(attention_grad(y, q, k, v, {}, forward, {}).dq.shape() == q.shape());
  const QuantizedMatrix matrix(BlockFormat::q8_0, 2, 32, Tensor::zeros({68}, DType::u8));
  CHECK_THROWS_WITH(quantized_linear_grad(of({4, 3}), matrix), contains("quantized_linear_grad: dy (4, 3)"));
  CHECK_THROWS_AS(quantized_linear_grad(of({}), matrix), Error);
}
