#include "models/gguf/types.h"

#include <map>

#include "engine/error.h"

namespace headroom::models {
namespace {

/// Types that other software writes and we do not read, to name them. Source: ggml.h, enum ggml_type.
const std::map<uint32_t, const char*> unread{{9, "Q8_1"},     {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"},
                                             {18, "IQ3_XXS"}, {19, "IQ1_S"}, {21, "IQ3_S"},   {22, "IQ2_S"},
                                             {28, "F64"},     {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"}};

}  // namespace

GgufForm gguf_form(uint32_t number) {
  if (number == 0) return std::nullopt;
  std::string names = "F32";
  for (const bool is_number : {true, false})
    for (const engine::BlockFormat format : engine::block_formats) {
      const engine::BlockTraits& traits = engine::traits_of(format);
      if (traits.gguf_type == number) return format;
      if ((traits.elements == 1) == is_number) names += fmt::format(", {}", traits.gguf_name);
    }
  const auto name = unread.find(number);
  fail("type {}{} is not read (read are {})", number, name == unread.end() ? "" : fmt::format(" ({})", name->second),
       names);
}

GgufForm gguf_form(engine::DType dtype) {
  if (dtype == engine::DType::f16) return engine::BlockFormat::f16;
  if (dtype == engine::DType::bf16) return engine::BlockFormat::bf16;
  return std::nullopt;
}

std::optional<engine::DType> dtype_of(GgufForm form) {
  for (const engine::DType dtype : {engine::DType::f32, engine::DType::f16, engine::DType::bf16})
    if (gguf_form(dtype) == form) return dtype;
  return std::nullopt;
}

uint32_t gguf_number(GgufForm form) { return form ? engine::traits_of(*form).gguf_type : 0; }
const char* gguf_name(GgufForm form) { return form ? engine::traits_of(*form).gguf_name : "F32"; }

uint64_t gguf_bytes(GgufForm form, const engine::Shape& shape) {
  const int64_t elements = form ? engine::traits_of(*form).elements : 1;
  const int64_t block_bytes = form ? engine::traits_of(*form).bytes : 4;
  const int64_t cols = shape.rank() > 0 ? shape[shape.rank() - 1] : 1;
  require(cols % elements == 0, "rows of {} are not whole blocks of {}", cols, elements);
  int64_t bytes = cols / elements;
  bool fits = !__builtin_mul_overflow(bytes, block_bytes, &bytes);
  for (int axis = 0; axis + 1 < shape.rank(); ++axis)
    fits = fits && !__builtin_mul_overflow(bytes, shape[axis], &bytes);
  require(fits, "{} {} is too large", form ? engine::traits_of(*form).name : "f32", shape.str());
  return static_cast<uint64_t>(bytes);
}

}  // namespace headroom::models
