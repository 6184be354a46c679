#include "models/gguf/types.h"

#include <array>

#include "engine/error.h"

namespace headroom::models {
namespace {

using engine::BlockFormat;

struct KnownType {
  GgufForm form;
  uint32_t number;
  const char* name;
};
constexpr std::array<KnownType, 10> gguf_types{{{std::nullopt, 0, "F32"},
                                                {BlockFormat::f16, 1, "F16"},
                                                {BlockFormat::bf16, 30, "BF16"},
                                                {BlockFormat::q8_0, 8, "Q8_0"},
                                                {BlockFormat::q4_0, 2, "Q4_0"},
                                                {BlockFormat::q4_1, 3, "Q4_1"},
                                                {BlockFormat::q5_0, 6, "Q5_0"},
                                                {BlockFormat::q5_1, 7, "Q5_1"},
                                                {BlockFormat::q4_k, 12, "Q4_K"},
                                                {BlockFormat::q6_k, 14, "Q6_K"}}};

/// Types that other software writes and we do not read, to name them. Source: ggml.h, enum ggml_type.
const char* unread_name(uint32_t number) {
  switch (number) {
    case 9:
      return "Q8_1";
    case 10:
      return "Q2_K";
    case 11:
      return "Q3_K";
    case 13:
      return "Q5_K";
    case 15:
      return "Q8_K";
    case 20:
      return "IQ4_NL";
    case 23:
      return "IQ4_XS";
    case 28:
      return "F64";
    case 34:
      return "TQ1_0";
    case 39:
      return "MXFP4";
    default:
      return nullptr;
  }
}

const KnownType& known(GgufForm form) {
  for (const KnownType& type : gguf_types)
    if (type.form == form) return type;
  fail("gguf: a form has no number");
}

}  // namespace

GgufForm gguf_form(uint32_t number) {
  std::string names;
  for (const KnownType& type : gguf_types) {
    if (type.number == number) return type.form;
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  }
  const char* name = unread_name(number);
  fail("type {}{} is not read (read are {})", number, name ? fmt::format(" ({})", name) : "", names);
}

uint32_t gguf_number(GgufForm form) { return known(form).number; }
const char* gguf_name(GgufForm form) { return known(form).name; }

uint64_t gguf_bytes(GgufForm form, const engine::Shape& shape) {
  const engine::BlockLayout layout = form ? engine::layout_of(*form) : engine::BlockLayout{"f32", 1, 4};
  const int64_t cols = shape.rank() > 0 ? shape[shape.rank() - 1] : 1;
  require(cols % layout.elements == 0, "rows of {} are not whole blocks of {}", cols, layout.elements);
  int64_t bytes = cols / layout.elements;
  bool fits = !__builtin_mul_overflow(bytes, layout.bytes, &bytes);
  for (int axis = 0; axis + 1 < shape.rank(); ++axis)
    fits = fits && !__builtin_mul_overflow(bytes, shape[axis], &bytes);
  require(fits, "{} {} is too large", layout.name, shape.str());
  return static_cast<uint64_t>(bytes);
}

}  // namespace headroom::models
