#include "tests/hostile/json_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace headroom::hostile {
namespace {

using Json = nlohmann::json;
using experiments::Value;
using Kind = Value::Kind;

/// What is at `pointer`. Throws nlohmann's exceptions where nothing is.
Json at(const Json& value, const std::string& pointer) {
  const size_t star = pointer.find("/*");
  if (star == std::string::npos) return value.at(Json::json_pointer(pointer));
  Json all = Json::array();
  for (const Json& item : value.at(Json::json_pointer(pointer.substr(0, star))))
    all.push_back(at(item, pointer.substr(star + 2)));
  return all;
}

Json json_of(const Value& value) {
  if (value.kind == Kind::boolean) return value.boolean;
  if (value.kind == Kind::integer) return value.integer;
  if (value.kind == Kind::real) return value.real;
  if (value.kind == Kind::text) return value.text;
  Json list = Json::array();
  for (const Value& item : value.list) list.push_back(json_of(item));
  return list;
}

bool fits(const Json& got, const Json& wanted, double within) {
  if (wanted.is_string() && !got.is_string()) return fits(got, Json::parse(wanted.get<std::string>()), within);
  if (wanted.is_array())
    return got.is_array() && std::equal(got.begin(), got.end(), wanted.begin(), wanted.end(),
                                        [&](const Json& a, const Json& b) { return fits(a, b, within); });
  if (!wanted.is_number_float()) return got == wanted;
  return got.is_number() &&
         std::abs(got.get<double>() - wanted.get<double>()) <= within * std::abs(wanted.get<double>());
}

}  // namespace

std::string json_mismatch(const std::string& output, const std::string& pointer, const Value& wanted, double within) {
  try {
    const Json got = at(Json::parse(output), pointer), expected = json_of(wanted);
    if (fits(got, expected, within)) return "";
    return fmt::format("  {} wanted: {}\n  {} was: {}\n", pointer, expected.dump().substr(0, 2000), pointer,
                       got.dump().substr(0, 2000));
  } catch (const Json::exception& error) {
    return fmt::format("  {}: {}\n", pointer, error.what());
  }
}

}  // namespace headroom::hostile
