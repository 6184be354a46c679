#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/safetensors/safetensors.h"

namespace headroom::models {
namespace {

using engine::DType;
using Json = nlohmann::json;

constexpr std::pair<DType, const char*> dtype_names[] = {
    {DType::f32, "F32"}, {DType::bf16, "BF16"}, {DType::f16, "F16"}, {DType::f64, "F64"},     {DType::i64, "I64"},
    {DType::i32, "I32"}, {DType::i8, "I8"},     {DType::u8, "U8"},   {DType::boolean, "BOOL"}};

DType dtype_of_name(const std::string& tensor, const std::string& name) {
  std::string known;
  for (const auto& [dtype, text] : dtype_names) {
    if (name == text) return dtype;
    known += known.empty() ? text : std::string(", ") + text;
  }
  fail("tensor {}: dtype {} is not supported (supported: {})", quoted_name(tensor), quoted_name(name), known);
}

Json parse(std::string_view text) {
  require(!text.empty() && text[0] == '{', "header does not start with '{{'");
  try {
    return parse_json(text);
  } catch (const Error& error) {
    fail("header {}", error.what());
  }
}

std::map<std::string, std::string> read_metadata(const Json& json) {
  require(json.is_object(), "__metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    require(value.is_string(), "__metadata__ {}: is not a string", quoted_name(key));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// Array `key` of a tensor: whole numbers from 0 that fit i64.
std::vector<uint64_t> read_numbers(const std::string& tensor, const Json& json, const char* key) {
  const Json& given = member(json, key);
  require(given.is_array(), "tensor {}: has no array {}", quoted_name(tensor), key);
  std::vector<uint64_t> numbers;
  for (const Json& number : given) {
    require(number.is_number_unsigned() && number.get<uint64_t>() <= INT64_MAX,
            "tensor {}: {} holds {}, expected whole numbers from 0 to 2^63 - 1", quoted_name(tensor), key,
            shown(number));
    numbers.push_back(number.get<uint64_t>());
  }
  return numbers;
}

/// Bytes of a tensor. Throws Error where they, or the strides next to an axis of size 0, overflow i64.
uint64_t checked_bytes(const SafetensorsEntry& entry) {
  int64_t bytes = engine::size_of(entry.dtype);
  bool empty = false;
  for (const int64_t dim : entry.shape) {
    empty = empty || dim == 0;
    require(!__builtin_mul_overflow(bytes, std::max<int64_t>(dim, 1), &bytes), "tensor {}: shape {} is too large",
            quoted_name(entry.name), entry.shape.str());
  }
  return empty ? 0 : static_cast<uint64_t>(bytes);
}

SafetensorsEntry read_entry(const std::string& name, const Json& json) {
  require(json.is_object(), "tensor {}: is not an object", quoted_name(name));
  const Json& dtype = member(json, "dtype");
  require(dtype.is_string(), "tensor {}: has no string dtype", quoted_name(name));
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = dtype_of_name(name, dtype.get<std::string>());
  const std::vector<uint64_t> dims = read_numbers(name, json, "shape");
  require(dims.size() <= engine::Shape::max_rank, "tensor {}: has {} axes, at most {} are supported", quoted_name(name),
          dims.size(), engine::Shape::max_rank);
  for (const uint64_t dim : dims) entry.shape.push_back(static_cast<int64_t>(dim));
  const std::vector<uint64_t> offsets = read_numbers(name, json, "data_offsets");
  require(offsets.size() == 2 && offsets[0] <= offsets[1], "tensor {}: data_offsets is [{}], expected [begin, end]",
          quoted_name(name), fmt::join(offsets, ", "));
  entry.begin = offsets[0], entry.end = offsets[1];
  const uint64_t bytes = checked_bytes(entry);
  require(entry.end - entry.begin == bytes, "tensor {}: offsets [{}, {}) hold {} bytes, {} {} needs {}",
          quoted_name(name), entry.begin, entry.end, entry.end - entry.begin, safetensors_name(entry.dtype),
          entry.shape.str(), bytes);
  return entry;
}

/// Sorts the entries by their bytes and requires that these tile [0, buffer_bytes).
void check_tiling(std::vector<SafetensorsEntry>& entries, uint64_t buffer_bytes) {
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t reached = 0;
  const SafetensorsEntry* before = nullptr;
  for (const SafetensorsEntry& entry : entries) {
    require(entry.end <= buffer_bytes, "tensor {}: offsets [{}, {}) end beyond the buffer of {} bytes (truncated?)",
            quoted_name(entry.name), entry.begin, entry.end, buffer_bytes);
    if (entry.begin < reached)
      fail("tensor {}: offsets [{}, {}) overlap those of {} [{}, {})", quoted_name(entry.name), entry.begin, entry.end,
           quoted_name(before->name), before->begin, before->end);
    require(entry.begin == reached, "bytes [{}, {}) before tensor {} belong to no tensor", reached, entry.begin,
            quoted_name(entry.name));
    reached = entry.end;
    before = &entry;
  }
  require(reached == buffer_bytes, "bytes [{}, {}) at the end belong to no tensor", reached, buffer_bytes);
}

}  // namespace

const char* safetensors_name(DType dtype) {
  for (const auto& [known, name] : dtype_names)
    if (known == dtype) return name;
  fail("safetensors: dtype {} has no name", engine::name_of(dtype));
}

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t buffer_bytes) {
  SafetensorsHeader header;
  const Json document = parse(json);
  for (const auto& [key, value] : document.items()) {
    if (key == "__metadata__") header.metadata = read_metadata(value);
    else header.entries.push_back(read_entry(key, value));
  }
  check_tiling(header.entries, buffer_bytes);
  return header;
}

}  // namespace headroom::models
