#include "engine/ops/linear/linear.h"

#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_kernel.h"
#include "engine/dispatch/op.h"
#include "engine/error.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/sum/sum.h"

namespace headroom::engine {
namespace {

/// (…, C) as (rows, C).
Tensor as_rows(const Tensor& x) { return x.reshape({x.shape().numel(0, x.rank() - 1), x.dim(-1)}).contiguous(); }

struct Call {
  Tensor x, weight, bias;  ///< x as (rows, in)
  Tensor y{};
  auto operands() { return std::array{real("x", x), real("weight", weight), optional_real("bias", bias)}; }
};

template <class T>
void run(Call& c, void (*product)(const MatrixProduct<T>&, int64_t, const int64_t*, const int64_t*, int64_t)) {
  const int64_t in = c.weight.dim(1), out = c.weight.dim(0);
  product({c.x.dim(0),
           out,
           in,
           {c.x.data<T>(), in},
           {c.weight.data<T>(), in, true},
           c.y.mutable_data<T>(),
           out,
           c.bias.defined() ? c.bias.data<T>() : nullptr},
          1, nullptr, nullptr, 0);
}

const Op<Call> op{"linear",
                  {{.name = "tiles",
                    .dtypes = DType::f32,
                    .run = [](Call& c) { run<float>(c, gemm<float>); },
                    .levels = kernel::gemm_tile_f32.levels()},
                   {.name = "tiles",
                    .dtypes = DType::f64,
                    .run = [](Call& c) { run<double>(c, gemm<double>); },
                    .levels = kernel::gemm_tile_f64.levels()},
                   {.name = "loops",
                    .dtypes = DType::f32,
                    .run = [](Call& c) { run<float>(c, gemm_loops<float>); },
                    .is_reference = true},
                   {.name = "loops",
                    .dtypes = DType::f64,
                    .run = [](Call& c) { run<double>(c, gemm_loops<double>); },
                    .is_reference = true}}};

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Call call{x, weight, bias};
  op.check(call);
  require(x.rank() >= 1 && weight.rank() == 2 && x.dim(-1) == weight.dim(1),
          "linear: x (…, in) does not fit weight (out, in): x {}, weight {}", x.shape().str(), weight.shape().str());
  const int64_t out = weight.dim(0);
  require(!bias.defined() || bias.shape() == Shape{out}, "linear: bias {} does not fit weight (out, in) {}",
          bias.shape().str(), weight.shape().str());
  call.x = as_rows(x);                                                     // (rows, in)
  call.y = Tensor::empty(x.shape().with(-1, out), x.dtype(), x.device());  // (…, out)
  if (call.y.numel() > 0) op.run(call);
  return call.y;
}

LinearGrad linear_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, bool need_x, bool need_weight,
                       bool need_bias) {
  LinearGrad grad;
  const Tensor dy_rows = as_rows(dy);  // (rows, out)
  if (need_x) grad.dx = matmul(dy_rows, weight).reshape(x.shape());
  if (need_weight) grad.dweight = matmul(dy_rows, as_rows(x), true);  // (out, in)
  if (need_bias) grad.dbias = sum(dy_rows, {0}, false);               // (out)
  return grad;
}

}  // namespace headroom::engine
