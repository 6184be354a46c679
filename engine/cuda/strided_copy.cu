#include "engine/cuda/launch.cuh"
#include "engine/cuda/runtime.h"

namespace headroom::engine::cuda {
namespace {

/// Copies elements of the size of Word, whatever their dtype.
template <class Word>
struct CopyElement {
  Word* to;
  const Word* from;
  Dims shape, to_strides, from_strides;

  __device__ void operator()(int64_t i) const {
    to[offset_of(i, shape, to_strides)] = from[offset_of(i, shape, from_strides)];
  }
};

template <class Word>
void copy_as(const Tensor& destination, const Tensor& source) {
  launch("strided_copy", source.numel(),
         CopyElement<Word>{static_cast<Word*>(destination.mutable_raw()), static_cast<const Word*>(source.raw()),
                           Dims(source.shape()), Dims(destination.strides()), Dims(source.strides())});
}

}  // namespace

void strided_copy(const Tensor& destination, const Tensor& source) {
  switch (size_of(source.dtype())) {
    case 1:
      return copy_as<uint8_t>(destination, source);
    case 2:
      return copy_as<uint16_t>(destination, source);
    case 4:
      return copy_as<uint32_t>(destination, source);
    default:
      return copy_as<uint64_t>(destination, source);
  }
}

}  // namespace headroom::engine::cuda
