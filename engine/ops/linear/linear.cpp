#include "engine/ops/linear/linear.h"

#include "engine/cpu/gemm_bf16.h"
#include "engine/cpu/gemm_bf16_kernel.h"
#include "engine/cpu/gemm_kernel.h"
#include "engine/error.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/rows/padded_rows.h"
#include "engine/ops/sum/sum.h"

namespace headroom::engine {
namespace {

/// Narrower rows are not padded: they fit into one tile of a product.
constexpr int64_t least_padded = 64;

/// (…, C) as (rows, C), without gaps between them unless they are padded_rows().
Tensor as_rows(const Tensor& x) {
  return has_padded_rows(x) ? x.as_rows() : x.reshape({x.shape().numel(0, x.rank() - 1), x.dim(-1)});
}

/// dy · weight + added, in padded_rows() if x has them.
Tensor input_gradient(const Tensor& dy, const Tensor& weight, const Tensor& x, const Tensor& added) {
  if (!has_padded_rows(x) || added.defined())
    return matmul(dy, weight, false, false, added.defined() ? as_rows(added) : Tensor()).reshape(x.shape());
  const Tensor dx = padded_rows(x.shape(), x.dtype(), x.device());  // (…, in)
  MatmulCall call{.a = dy, .b = weight, .transpose_a = false, .transpose_b = false, .added = {}, .y = dx.as_rows()};
  matmul_op.run(call);
  return dx;
}

template <class T>
void run(LinearCall& c, void (*product)(const MatrixProduct<T>&, int64_t, const int64_t*, const int64_t*, int64_t)) {
  const int64_t in = c.weight.dim(1), out = c.weight.dim(0);
  product({c.x.dim(0),
           out,
           in,
           {c.x.data<T>(), in},
           {c.weight.data<T>(), in, true},
           c.y.mutable_data<T>(),
           out,
           c.bias.data_or_null<T>()},
          1, nullptr, nullptr, 0);
}

void run_bf16(LinearCall& c) {
  const int64_t in = c.weight.dim(1), out = c.weight.dim(0);
  const Tensor bias = c.bias.defined() ? c.bias.to(DType::f32) : Tensor();
  gemm_bf16({.m = c.x.dim(0),
             .n = out,
             .k = in,
             .a = {c.x.data<bf16>(), in},
             .b = {c.weight.data<bf16>(), in, true},
             .y = c.y.mutable_data<bf16>(),
             .bias = bias.data_or_null<float>()});
}

/// Σ dyᵀ·x and Σ dy in f32 where their places are, else rounded once.
void run_sums_bf16(LinearSumsCall& c) {
  const int64_t rows = c.dy.dim(0), out = c.dy.dim(1), in = c.x.dim(1);
  const auto is_place = [](const Tensor& x) { return x.defined() && x.dtype() == DType::f32 && x.is_contiguous(); };
  if (c.need_weight) {
    const bool is_f32 = is_place(c.dweight);
    if (!is_f32) c.dweight = Tensor::empty({out, in}, DType::bf16);  // (out, in)
    else c.dweight.bump_version();
    gemm_bf16({.m = out,
               .n = in,
               .k = rows,
               .a = {c.dy.data<bf16>(), out, true},
               .b = {c.x.data<bf16>(), in},
               .y = is_f32 ? nullptr : c.dweight.mutable_data<bf16>(),
               .c = is_f32 ? c.dweight.mutable_data<float>() : nullptr});
  }
  if (!c.need_bias) return;
  if (!is_place(c.dbias)) c.dbias = Tensor::empty({out}, DType::bf16);  // (out)
  else c.dbias.bump_version();
  SumCall sums{c.dy.reshape({1, rows, out}), c.dbias};
  if (out > 0) sum_op.run(sums);
}

/// By the products and sums of the operands' device.
void run_sums(LinearSumsCall& c) {
  if (c.need_weight) c.dweight = matmul(c.dy, c.x, true);  // (out, in)
  if (c.need_bias) c.dbias = sum(c.dy, {0}, false);        // (out)
}

}  // namespace

Work LinearCall::work() const {
  return {
      .products = {{.m = x.dim(0), .n = weight.dim(0), .k = weight.dim(1), .transpose_b = true, .dtype = x.dtype()}},
      .bytes = bytes_of(x) + bytes_of(weight) + bytes_of(bias) + bytes_of(y)};
}

Work LinearSumsCall::work() const {
  Work work{.bytes = bytes_of(dy)};
  if (!need_weight) return work;
  const Product sums{.m = dy.dim(1), .n = x.dim(1), .k = dy.dim(0), .transpose_a = true, .dtype = x.dtype()};
  work.products = {sums};
  work.bytes += bytes_of(x);
  work.bytes += dweight.defined() ? bytes_of(dweight) : static_cast<double>(sums.m * sums.n * size_of(x.dtype()));
  return work;
}

Op<LinearCall> linear_op{
    "linear",
    {{.name = "tiles",
      .dtypes = DType::f32,
      .run = [](LinearCall& c) { run<float>(c, gemm<float>); },
      .levels = kernel::gemm_tile_f32.levels()},
     {.name = "tiles",
      .dtypes = DType::f64,
      .run = [](LinearCall& c) { run<double>(c, gemm<double>); },
      .levels = kernel::gemm_tile_f64.levels()},
     {.name = "pairs", .dtypes = DType::bf16, .run = run_bf16, .levels = kernel::gemm_tile_bf16.levels()},
     {.name = "loops",
      .dtypes = DType::f32,
      .run = [](LinearCall& c) { run<float>(c, gemm_loops<float>); },
      .is_reference = true},
     {.name = "loops",
      .dtypes = DType::f64,
      .run = [](LinearCall& c) { run<double>(c, gemm_loops<double>); },
      .is_reference = true}}};

Op<LinearSumsCall> linear_sums_op{
    "linear_grad",
    {{.name = "matmul and sum", .dtypes = DType::f32 | DType::f64, .run = run_sums, .is_reference = true},
     {.name = "pairs", .dtypes = DType::bf16, .run = run_sums_bf16, .levels = kernel::gemm_tile_bf16.levels()}}};

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, bool pads_rows) {
  LinearCall call{x, weight, bias};
  linear_op.check(call);
  require(x.rank() >= 1 && weight.rank() == 2 && x.dim(-1) == weight.dim(1),
          "linear: x (…, in) does not fit weight (out, in): x {}, weight {}", x.shape(), weight.shape());
  const int64_t out = weight.dim(0);
  require(!bias.defined() || bias.shape() == Shape{out}, "linear: bias {} does not fit weight (out, in) {}",
          bias.shape(), weight.shape());
  call.x = as_rows(x);  // (rows, in)
  const Shape shape = x.shape().with(-1, out);
  pads_rows = pads_rows && !x.device().is_cpu() && call.x.dim(0) > 1 && out >= least_padded;
  call.y =
      pads_rows ? padded_rows(shape, x.dtype(), x.device()) : Tensor::empty(shape, x.dtype(), x.device());  // (…, out)
  if (call.y.numel() > 0) linear_op.run(call);
  return call.y;
}

LinearGrad linear_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, bool need_x, bool need_weight,
                       bool need_bias, bool has_bias, const LinearPlaces& places, const Tensor& added) {
  LinearGrad grad;
  const Tensor dy_rows = as_rows(dy);  // (rows, out)
  if (need_x) grad.dx = input_gradient(dy_rows, weight, x, added);
  if (!need_weight && !need_bias) return grad;
  LinearSumsCall call{dy_rows,  as_rows(x),     need_weight,  need_bias,
                      has_bias, places.dweight, places.dbias, places.is_late};
  linear_sums_op.check(call);
  const auto fits = [](const Tensor& place, const Shape& shape) { return !place.defined() || place.shape() == shape; };
  require(fits(places.dweight, {dy.dim(-1), x.dim(-1)}) && fits(places.dbias, {dy.dim(-1)}),
          "linear_grad: the places {} and {} do not fit dy {} and x {}", places.dweight, places.dbias, dy.shape(),
          x.shape());
  require(call.dy.dim(0) == call.x.dim(0), "linear_grad: dy {} does not fit x {}", dy.shape(), x.shape());
  linear_sums_op.run(call);
  if (need_weight) grad.dweight = call.dweight;
  if (need_bias) grad.dbias = call.dbias;
  return grad;
}

}  // namespace headroom::engine
