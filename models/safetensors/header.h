#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/dtype.h"
#include "engine/shape.h"

namespace headroom::models {

/// One tensor of a safetensors file: bytes [begin, end) of the buffer, row-major.
struct SafetensorsEntry {
  std::string name;
  engine::DType dtype = engine::DType::f32;
  engine::Shape shape;
  uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in file order
  std::map<std::string, std::string> metadata;
};

/// The longest header accepted: the reference implementation's limit.
inline constexpr uint64_t max_safetensors_header = 100'000'000;

/// "F32", "BF16", …: the name of a dtype in safetensors files.
const char* safetensors_name(engine::DType dtype);

/// Reads and checks the JSON header of a file with a buffer of `buffer_bytes` bytes. Each range must have its tensor's
/// size, and together they must tile the buffer. Throws Error, without the file's name, naming the faulty tensor.
/// Source: the safetensors format, https://github.com/huggingface/safetensors.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t buffer_bytes);

}  // namespace headroom::models
