#include "engine/dtype.h"

#include <array>

#include "engine/error.h"

namespace headroom::engine {
namespace {

struct Row {
  DType dtype;
  const char* name;
  int64_t bytes;
};
constexpr std::array<Row, 9> rows{{{DType::f32, "f32", 4},
                                   {DType::bf16, "bf16", 2},
                                   {DType::f16, "f16", 2},
                                   {DType::f64, "f64", 8},
                                   {DType::i64, "i64", 8},
                                   {DType::i32, "i32", 4},
                                   {DType::i8, "i8", 1},
                                   {DType::u8, "u8", 1},
                                   {DType::boolean, "bool", 1}}};

}  // namespace

int64_t size_of(DType dtype) { return rows[static_cast<size_t>(dtype)].bytes; }
const char* name_of(DType dtype) { return rows[static_cast<size_t>(dtype)].name; }

std::string str(DTypeSet dtypes) {
  std::string text;
  for (const Row& row : rows)
    if (dtypes.contains(row.dtype)) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

DType dtype_named(std::string_view name) {
  std::string known;
  for (const Row& row : rows) {
    if (name == row.name) return row.dtype;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  fail("dtype: unknown name '{}'; known: {}", name, known);
}

bool is_floating(DType dtype) { return dtype <= DType::f64; }

}  // namespace headroom::engine
