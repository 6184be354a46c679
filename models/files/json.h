#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/error.h"

namespace headroom::models {

/// What f() returns; an Error of it gets `place` before its message: "FILE: what is wrong".
template <class F>
auto naming(const std::string& place, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    fail("{}: {}", place, error.what());
  }
}

/// Parses JSON from outside. Throws Error, without the file's name, for invalid JSON, for a key given twice in one
/// object, for a zero byte (nlohmann-json would keep the last key and stop at the zero), and for lists and objects
/// nested deeper than 100, which nlohmann-json copies by recursion.
nlohmann::json parse_json(std::string_view text);

/// Reads a JSON file. Throws Error naming it.
nlohmann::json read_json(const std::filesystem::path& path);

/// Reads a JSON object from a file; empty if there is no such file. Throws Error naming it.
nlohmann::json read_optional_object(const std::filesystem::path& path);

/// The member of an object; null if it has none, or is no object.
const nlohmann::json& member(const nlohmann::json& json, const char* key);
/// A member that is true or false; `absent` if it is null. Throws Error for anything else.
bool flag_of(const nlohmann::json& json, const char* key, bool absent = false);

/// A whole number from 0 to `most`, by default the range a double counts exactly. Throws Error for anything else:
/// nlohmann-json would convert it to another number.
int64_t whole_number(const nlohmann::json& json, int64_t most = int64_t{1} << 53);

/// A value for an error message: arrays and objects by kind only, because printing them recurses as deep as the file
/// likes; strings as in quoted_name().
std::string shown(const nlohmann::json& json);

/// A name from a file, quoted for error messages: control characters escaped, long names cut.
std::string quoted_name(const std::string& name);

}  // namespace headroom::models
