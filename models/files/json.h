#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace headroom::models {

/// JSON that came from outside. Throws Error, without the file's name, for what is not JSON, for a key given twice in
/// one object and for a zero byte (nlohmann-json keeps the last of equal keys and takes a zero for the end).
nlohmann::json parse_json(std::string_view text);

/// The JSON of a file. Throws Error naming it.
nlohmann::json read_json(const std::filesystem::path& path);

/// A JSON object from a file; an empty one where there is no such file. Throws Error naming it.
nlohmann::json read_optional_object(const std::filesystem::path& path);

/// A whole number from 0 to `most`, by default all that a double counts to. Throws Error for anything else:
/// nlohmann-json turns what does not fit into another number.
int64_t whole_number(const nlohmann::json& json, int64_t most = int64_t{1} << 53);

/// A value for an error message: an array or object by its kind only, as printing it recurses as deep as the file
/// likes, a string as quoted_name() has it.
std::string shown(const nlohmann::json& json);

/// A name from a file in quotes, for error messages: control characters escaped, long ones cut.
std::string quoted_name(const std::string& name);

}  // namespace headroom::models
