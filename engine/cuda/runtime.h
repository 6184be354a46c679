#pragma once
#include <string>

#include "engine/tensor.h"

namespace headroom::engine::cuda {

/// Offers GPU 0 to tensors (see transfer.h) if this machine has one that works, and says what was found: "NVIDIA H200,
/// compute capability 9.0, 139 GiB", or why there is none. Never throws: a machine without a GPU is no error.
std::string start();

/// destination[...] = source[...], both on the GPU, same shape and dtype, any strides.
void strided_copy(const Tensor& destination, const Tensor& source);

}  // namespace headroom::engine::cuda
