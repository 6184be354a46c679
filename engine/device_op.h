#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

using UnaryOnDevice = Tensor (*)(const Tensor& x);
/// dx; `x` or `y` is undefined where the formula does not read it.
using UnaryGradOnDevice = Tensor (*)(const Tensor& dy, const Tensor& x, const Tensor& y);
using BinaryOnDevice = Tensor (*)(const Tensor& a, const Tensor& b, const Shape& shape);
using MatmulOnDevice = Tensor (*)(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
                                  const Shape& shape);

/// One op's kernels on a device other than the CPU; null where it has none. The op itself has checked the operands,
/// which live on that device, share a floating dtype and may be strided, and has worked out the `shape` of the result.
struct DeviceOp {
  UnaryOnDevice unary = nullptr;
  UnaryGradOnDevice unary_grad = nullptr;
  BinaryOnDevice binary = nullptr;
  MatmulOnDevice matmul = nullptr;
};

/// Called once per op when a device's backend starts.
void register_device_op(const char* op, const DeviceOp& kernels);

/// One kernel of `op` for the device of x, which is not the CPU: device_kernel("gelu", &DeviceOp::unary, x)(x). Throws
/// Error naming the op and x where there is none.
template <class Kernel>
Kernel device_kernel(const char* op, Kernel DeviceOp::*kernel, const Tensor& x);

/// Throws Error with a vendor call that failed, its place and the reason. (A function, because nvcc cannot read fmt.)
[[noreturn]] void device_failure(const char* call, const char* file, int line, const char* reason);

}  // namespace headroom::engine
