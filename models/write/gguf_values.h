#pragma once
#include <string>
#include <utility>
#include <vector>

#include "models/gguf/metadata.h"

namespace headroom::models {

/// Values of a GGUF file's metadata.
inline GgufValue gguf_u32(int64_t value) {
  return {.type = GgufValueType::u32, .is_array = false, .items = std::vector<int64_t>{value}};
}
inline GgufValue gguf_f32(double value) {
  return {.type = GgufValueType::f32, .is_array = false, .items = std::vector<double>{value}};
}
inline GgufValue gguf_flag(bool value) {
  return {.type = GgufValueType::boolean, .is_array = false, .items = std::vector<int64_t>{value ? 1 : 0}};
}
inline GgufValue gguf_text(std::string value) {
  return {.type = GgufValueType::string, .is_array = false, .items = std::vector<std::string>{std::move(value)}};
}
inline GgufValue gguf_list(std::vector<std::string> values) {
  return {.type = GgufValueType::string, .is_array = true, .items = std::move(values)};
}
inline GgufValue gguf_i32_list(std::vector<int64_t> values) {
  return {.type = GgufValueType::i32, .is_array = true, .items = std::move(values)};
}
inline GgufValue gguf_f32_list(std::vector<double> values) {
  return {.type = GgufValueType::f32, .is_array = true, .items = std::move(values)};
}

}  // namespace headroom::models
