#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "engine/dtype.h"
#include "engine/quantized/block_format.h"
#include "engine/shape.h"

namespace headroom::models {

/// A tensor's form in a GGUF file: f32, or blocks (f16 and bf16 are blocks of one number).
using GgufForm = std::optional<engine::BlockFormat>;  ///< nullopt: f32

/// The form with that number in the file. Throws Error naming the type and the supported ones.
GgufForm gguf_form(uint32_t number);
/// The form of a tensor of that dtype; nullopt also for dtypes that no weight should have.
GgufForm gguf_form(engine::DType dtype);
/// The dtype of a form with one number per block; nullopt for larger blocks.
std::optional<engine::DType> dtype_of(GgufForm form);
/// A form's number in the file.
uint32_t gguf_number(GgufForm form);
/// "F32", "Q4_1", …
const char* gguf_name(GgufForm form);
/// The bytes of a tensor (…, cols) in that form. Throws Error if its rows are not whole blocks or the size overflows.
uint64_t gguf_bytes(GgufForm form, const engine::Shape& shape);

}  // namespace headroom::models
