#include "models/files/json.h"

#include <functional>
#include <set>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "models/files/mapped_file.h"

namespace headroom::models {
namespace {

using Json = nlohmann::json;

/// Called by the parser for every key and value.
struct RefuseDuplicates {
  std::vector<std::set<std::string>> keys;  ///< of the objects that are open

  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) fail("has key {} twice", quoted_name(key));
    }
    return true;
  }
};

}  // namespace

Json parse_json(std::string_view text) {
  require(text.find('\0') == std::string_view::npos, "is not JSON: holds a zero byte");
  RefuseDuplicates callback;
  try {
    return Json::parse(text, std::ref(callback));
  } catch (const Json::exception& error) {
    fail("is not JSON: {}", plain_words(error.what()));
  }
}

Json read_json(const std::filesystem::path& path) {
  const MappedFile file(path);
  try {
    return parse_json(file.text());
  } catch (const Error& error) {
    fail("{}: {}", path.string(), error.what());
  }
}

Json read_optional_object(const std::filesystem::path& path) {
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) return Json::object();
  Json json = read_json(path);
  require(json.is_object(), "{}: expected a JSON object, got {}", path.string(), shown(json));
  return json;
}

std::string shown(const Json& json) {
  if (json.is_structured()) return json.type_name();
  return json.is_string() ? quoted_name(json.get_ref<const std::string&>()) : json.dump();
}

std::string quoted_name(const std::string& name) {
  constexpr size_t longest = 200;
  std::string text = Json(name.substr(0, longest)).dump(-1, ' ', false, Json::error_handler_t::replace);
  text.front() = text.back() = '\'';
  return name.size() > longest ? text + "…" : text;
}

}  // namespace headroom::models
