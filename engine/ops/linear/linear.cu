#include "engine/ops/linear/linear.h"

#include "engine/cuda/bias.cuh"
#include "engine/cuda/blas.h"
#include "engine/cuda/padded_product.h"
#include "engine/ops/rows/padded_rows.h"
#include "engine/profile.h"

namespace headroom::engine::cuda {
namespace {

/// x (rows, C) without gaps between its rows, unless these are padded.
void take_rows(Tensor& x) {
  if (!has_padded_rows(x)) x = x.contiguous();
}
void take_operands(LinearCall& c) {
  take_rows(c.x);
  take_rows(c.weight);
  if (c.bias.defined()) c.bias = c.bias.contiguous();
}

/// y = x · Wᵀ + bias, y (rows, out), x and y maybe with gaps between their rows.
BlasProduct product_of(const LinearCall& c, const Tensor& y) {
  const auto epilogue = c.bias.defined() ? BlasEpilogue::bias : BlasEpilogue::none;
  BlasProduct product = blas_product(y.dtype(), c.x.dim(0), c.weight.dim(0), c.weight.dim(1), false, true, epilogue);
  product.row_a = c.x.strides()[0];
  product.row_b = c.weight.strides()[0];
  product.row_y = y.strides()[0];
  return product;
}
BlasOperands operands_of(const LinearCall& c, const Tensor& y) {
  return {c.x.raw(), c.weight.raw(), y.mutable_raw(), c.bias.defined() ? c.bias.raw() : nullptr};
}

/// The bias goes into the product, or is added after it where the library has no such product.
void run(LinearCall& c) {
  take_operands(c);
  const int64_t in = c.weight.dim(1);
  const Tensor y = c.y.as_rows();
  const BlasOperands operands = operands_of(c, y);
  BlasProduct product = product_of(c, y);
  if (in > 0 && c.bias.defined()) {
    if (padded_product(product, {c.x, c.weight, y, c.bias})) return;
    if (blas_supports(product, operands)) return blas_matmul(product, operands);
  }
  product.epilogue = BlasEpilogue::none;
  if (in == 0) {
    fill_zero(y);
  } else if (!padded_product(product, {c.x, c.weight, y})) {
    blas_matmul(product, operands);
  }
  if (!c.bias.defined()) return;
  const OpSpan span("linear: bias apart");
  add_bias(y, c.bias);
}

/// True if a product may write to the given places; the library then makes both in one dtype.
bool takes(const LinearSumsCall& c) {
  const Tensor& place = c.need_weight ? c.dweight : c.dbias;
  const bool all = (!c.need_weight || c.dweight.defined()) && (!c.need_bias || c.dbias.defined());
  const auto fits = [&](const Tensor& x) { return !x.defined() || (x.dtype() == place.dtype() && x.row_stride() > 0); };
  return all && fits(c.dweight) && fits(c.dbias) &&
         (place.dtype() == c.dy.dtype() || place.dtype() == statistic_dtype(c.dy.dtype()));
}

/// A matrix with room for padded_product() after its last row.
Tensor with_room(int64_t rows, int64_t columns, DType dtype, Device device) {
  const int64_t all = (rows + 7) / 8 * 8;
  const Tensor whole = Tensor::empty({all, columns}, dtype, device);
  if (all > rows) whole.declare_padding(rows * columns, all * columns, 0, false);
  return whole.slice(0, 0, rows);
}

/// dW = dyᵀ · x, with Σ_rows dy in the product, or by itself where that is faster or the library has no such product.
void run_sums(LinearSumsCall& c) {
  take_rows(c.dy);
  take_rows(c.x);
  const int64_t rows = c.dy.dim(0), out = c.dy.dim(1), in = c.x.dim(1);
  const DType dtype = c.dy.dtype();
  const Device device = c.dy.device();
  const bool is_product = rows > 0 && out > 0 && in > 0;
  if (!takes(c)) c.dweight = c.dbias = Tensor(), c.is_late = false;
  const DType result = c.dweight.defined() ? c.dweight.dtype() : c.dbias.defined() ? c.dbias.dtype() : dtype;
  if (!c.dweight.defined()) c.dweight = with_room(out, in, result, device);  // (out, in)
  if (!c.dbias.defined()) c.dbias = Tensor::empty({out}, result, device);    // (out)
  for (const Tensor& made : {c.dweight, c.dbias}) made.use_on_stream();
  const BlasOperands operands{c.dy.raw(), c.x.raw(), c.dweight.mutable_raw(), nullptr, c.dbias.mutable_raw()};
  BlasProduct product = blas_product(dtype, out, in, rows, true, false, BlasEpilogue::bias_grad);
  product.row_a = c.dy.strides()[0];
  product.row_b = c.x.strides()[0];
  product.row_y = c.dweight.strides()[0];
  product.result = result;
  if (is_product && c.has_bias && blas_supports(product, operands)) return blas_matmul(product, operands);
  if (c.need_bias) {
    const OpSpan span("linear: bias gradient apart");
    if (rows > 0 && out > 0) {
      add_bias_grad(c.dy, c.dbias, c.is_late && c.need_bias);
    } else {
      fill_zero(c.dbias);
    }
  }
  if (!c.need_weight) return;
  product.epilogue = BlasEpilogue::none;
  if (!is_product) {
    fill_zero(c.dweight);
  } else if (!padded_product(product, {c.dy, c.x, c.dweight})) {
    blas_matmul(product, operands);
  }
}

}  // namespace

void register_linear() {
  const DTypeSet dtypes = DType::f32 | DType::f64 | DType::bf16;
  add_strided_kernel(linear_op, "cublasLt", dtypes, run);
  add_strided_kernel(linear_sums_op, "cublasLt", dtypes, run_sums);
}

}  // namespace headroom::engine::cuda
