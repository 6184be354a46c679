#pragma once
#include <cstdint>

#include "engine/tensor.h"

namespace headroom::engine {

/// One tensor that an op reads, as the dispatcher sees it: a place in the op's call, which it may replace by a
/// contiguous copy.
struct Operand {
  enum class Kind : uint8_t {
    real,   ///< floating; all real operands of a call have one dtype, which chooses the implementation
    index,  ///< i64
    mask,   ///< bool
  };
  const char* name;
  Tensor* tensor;
  Kind kind = Kind::real;
  bool is_optional = false;  ///< may be undefined
};

inline Operand real(const char* name, Tensor& tensor) { return {name, &tensor}; }
inline Operand optional_real(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::real, true}; }
inline Operand index(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::index}; }
inline Operand mask(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::mask}; }
inline Operand optional_mask(const char* name, Tensor& tensor) { return {name, &tensor, Operand::Kind::mask, true}; }

}  // namespace headroom::engine
