#include "models/gguf/metadata.h"

#include <array>
#include <cmath>

#include "engine/error.h"
#include "models/files/json.h"

namespace headroom::models {
namespace {

constexpr std::array<const char*, 13> gguf_type_names{"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                      "bool", "string", "array", "u64", "i64", "f64"};
constexpr int64_t most_counted = int64_t(1) << 40;

}  // namespace

const char* name_of(GgufValueType type) { return gguf_type_names[static_cast<size_t>(type)]; }

void GgufMetadata::complain(const std::string& key, const std::string& message) const {
  fail("{}: {}: {}", source_, quoted_name(key), message);
}

void GgufMetadata::add(const std::string& key, GgufValue value) {
  if (!values_.emplace(key, std::move(value)).second) complain(key, "given twice");
}

template <class T>
const std::vector<T>& GgufMetadata::items(const std::string& key, bool is_array, const char* wanted) const {
  const auto found = values_.find(key);
  if (found == values_.end()) complain(key, "missing");
  const GgufValue& value = found->second;
  const auto* list = std::get_if<std::vector<T>>(&value.items);
  if (list == nullptr || value.is_array != is_array)
    complain(key,
             fmt::format("is {}{}, expected {}", value.is_array ? "an array of " : "", name_of(value.type), wanted));
  return *list;
}

int64_t GgufMetadata::count(const std::string& key) const {
  const int64_t value = items<int64_t>(key, false, "a whole number")[0];
  if (value < 1 || value > most_counted) complain(key, fmt::format("expected a number from 1 to 2^40, got {}", value));
  return value;
}

std::optional<int64_t> GgufMetadata::integer(const std::string& key) const {
  if (!contains(key)) return std::nullopt;
  return items<int64_t>(key, false, "a whole number")[0];
}

double GgufMetadata::positive(const std::string& key) const {
  const double value = items<double>(key, false, "a fraction")[0];
  if (!(value > 0) || !std::isfinite(value)) complain(key, fmt::format("expected a number above 0, got {}", value));
  return value;
}

bool GgufMetadata::flag(const std::string& key, bool otherwise) const {
  if (!contains(key)) return otherwise;
  const int64_t value = items<int64_t>(key, false, "true or false")[0];
  if (values_.at(key).type != GgufValueType::boolean) complain(key, "is no bool, expected true or false");
  return value != 0;
}

std::string GgufMetadata::text(const std::string& key) const { return items<std::string>(key, false, "a string")[0]; }

const std::vector<std::string>& GgufMetadata::texts(const std::string& key) const {
  return items<std::string>(key, true, "an array of strings");
}

const std::vector<int64_t>& GgufMetadata::integers(const std::string& key) const {
  return items<int64_t>(key, true, "an array of whole numbers");
}

const std::vector<double>& GgufMetadata::numbers(const std::string& key) const {
  return items<double>(key, true, "an array of fractions");
}

}  // namespace headroom::models
