#include "models/files/json.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "models/files/mapped_file.h"
#include "models/files/other_kind.h"

namespace headroom::models {
namespace {

using Json = nlohmann::json;

constexpr size_t most_nested = 100;

/// Builds the document from the parser's events. nlohmann's own parser with a callback looks through all of a list or
/// object for what the callback threw away, each time a part of it ends: quadratic in a header of many tensors.
class Builder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& value) override { return put(std::move(value)); }
  bool start_object(size_t /*elements*/) override { return open(Json::object()); }
  bool start_array(size_t /*elements*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    const auto [place, is_new] = open_.back()->get_ref<Json::object_t&>().emplace(name, nullptr);
    if (!is_new) fail("has key {} twice", quoted_name(name));
    member_ = &place->second;
    return true;
  }
  bool parse_error(size_t /*position*/, const std::string& /*last*/, const Json::exception& error) override {
    fail("is not JSON: {}", plain_words(error.what()));
  }

  Json take() { return std::move(root_); }

 private:
  /// Puts a value where the last event left off: into the open list, at the open object's key, or as the document.
  template <class Value>
  bool put(Value&& value) {
    if (open_.empty()) root_ = std::forward<Value>(value);
    else if (open_.back()->is_array()) open_.back()->push_back(std::forward<Value>(value));
    else *member_ = std::forward<Value>(value);
    return true;
  }
  bool open(Json container) {
    // What is nested is copied, compared and printed by functions that call themselves.
    require(open_.size() < most_nested, "lists and objects are nested deeper than {}", most_nested);
    put(std::move(container));
    Json* parent = open_.empty() ? nullptr : open_.back();
    open_.push_back(parent == nullptr ? &root_ : parent->is_array() ? &parent->back() : member_);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  ///< the lists and objects that have not ended; none of them grows but the last
  Json* member_ = nullptr;   ///< of the last key
};

}  // namespace

Json parse_json(std::string_view text) {
  require(text.find('\0') == std::string_view::npos, "is not JSON: holds a zero byte");
  Builder builder;
  Json::sax_parse(text, &builder);
  return builder.take();
}

Json read_json(const std::filesystem::path& path) {
  const MappedFile file(path);
  try {
    return parse_json(file.text());
  } catch (const Error& error) {
    fail("{}: {}", path.string(), other_than_text_or(file.text(), error.what()));
  }
}

Json read_optional_object(const std::filesystem::path& path) {
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) return Json::object();
  Json json = read_json(path);
  require(json.is_object(), "{}: expected a JSON object, got {}", path.string(), shown(json));
  return json;
}

const Json& member(const Json& json, const char* key) {
  static const Json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

bool flag_of(const Json& json, const char* key, bool absent) {
  const Json& value = member(json, key);
  require(value.is_null() || value.is_boolean(), "{} is {}, expected true or false", key, shown(value));
  return value.is_null() ? absent : value.get<bool>();
}

int64_t whole_number(const Json& json, int64_t most) {
  const bool fits = json.is_number_unsigned() && json.get<uint64_t>() <= static_cast<uint64_t>(most);
  require(fits, "{} is no whole number from 0 to {}", shown(json), most);
  return json.get<int64_t>();
}

std::string shown(const Json& json) {
  if (json.is_structured()) return json.type_name();
  return json.is_string() ? quoted_name(json.get_ref<const std::string&>()) : json.dump();
}

std::string quoted_name(const std::string& name) { return fmt::format("'{}'", excerpt(name, 200)); }

}  // namespace headroom::models
