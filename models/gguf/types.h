#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "engine/dtype.h"
#include "engine/quantized/block_format.h"
#include "engine/shape.h"

namespace headroom::models {

/// How a tensor's numbers lie in a GGUF file: as f32, or in blocks (f16 and bf16 are blocks of one number).
using GgufForm = std::optional<engine::BlockFormat>;  ///< nullopt: f32

/// The form of that number in the file. Throws Error naming the type, and those that we read, for any other.
GgufForm gguf_form(uint32_t number);
/// The form of a tensor of that dtype; nullopt for dtypes that no weight should have, too.
GgufForm gguf_form(engine::DType dtype);
/// The dtype of a form whose numbers are one: nullopt for blocks of several.
std::optional<engine::DType> dtype_of(GgufForm form);
/// The number of a form in the file.
uint32_t gguf_number(GgufForm form);
/// "F32", "Q4_1", …
const char* gguf_name(GgufForm form);
/// The bytes of a tensor (…, cols) in that form. Throws Error where its rows are not whole blocks or the size
/// overflows.
uint64_t gguf_bytes(GgufForm form, const engine::Shape& shape);

}  // namespace headroom::models
