#pragma once
#include <cstdint>

#include "engine/tensor.h"

namespace headroom::engine {

/// A tensor that an op reads: a reference into the op's call, which the dispatcher may replace by a contiguous copy.
struct Operand {
  enum class Kind : uint8_t {
    real,       ///< floating; all real operands of a call share one dtype, which chooses the implementation
    statistic,  ///< floating, saved by the forward pass, in statistic_dtype() of the real ones
    index,      ///< i64
    mask,       ///< bool
    bytes,      ///< u8: packed rows
  };
  const char* name;
  Tensor* tensor;
  Kind kind = Kind::real;
  bool is_optional = false;  ///< may be undefined
};

/// The bytes an op reads or writes of it: none if undefined, one row if broadcast.
inline double bytes_of(const Tensor& x) {
  if (!x.defined()) return 0;
  auto bytes = static_cast<double>(size_of(x.dtype()));
  for (int axis = 0; axis < x.rank(); ++axis)
    if (x.strides()[axis] != 0 || x.dim(axis) == 0) bytes *= static_cast<double>(x.dim(axis));
  return bytes;
}

/// The dtype of values saved by a forward pass (1/rms, a log-sum-exp): f32 for halves, which are too coarse, else the
/// operands' own.
inline DType statistic_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

inline Operand real(const char* name, Tensor& tensor) { return {name, &tensor}; }
inline Operand optional_real(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::real, true}; }
inline Operand statistic(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::statistic}; }
inline Operand index(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::index}; }
inline Operand optional_index(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::index, true}; }
inline Operand mask(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::mask}; }
inline Operand bytes(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::bytes}; }
inline Operand optional_mask(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::mask, true}; }

}  // namespace headroom::engine
