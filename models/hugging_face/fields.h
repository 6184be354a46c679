#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/error.h"
#include "models/files/json.h"

namespace headroom::models {

/// The fields of a config.json; all messages name file and field. Remembers which fields were read.
class ConfigFields {
 public:
  ConfigFields(const nlohmann::json& fields, std::string source) : fields_(fields), source_(std::move(source)) {
    require(fields.is_object(), "{}: expected a JSON object, got {}", source_, shown(fields));
  }
  const std::string& source() const { return source_; }
  [[noreturn]] void complain(const char* name, const std::string& message) const {
    fail("{}: {}: {}", source_, name, message);
  }
  /// True if the field is present; null counts as absent, as in transformers.
  bool has(const char* name) const {
    asked_.insert(name);
    return fields_.contains(name) && !fields_[name].is_null();
  }
  /// A whole number from 1 to 2^40.
  int64_t count(const char* name) const {
    if (!has(name)) complain(name, "missing");
    const nlohmann::json& value = fields_[name];
    if (!value.is_number_integer() || value < 1 || value > most)
      complain(name, "expected an integer from 1 to 2^40, got " + shown(value));
    return value.get<int64_t>();
  }
  /// As many layers as any reader makes a list of: from 1 to 2^16.
  int64_t layers(const char* name) const {
    const int64_t layers = count(name);
    if (layers > 1 << 16) complain(name, fmt::format("{} layers, at most {} are read", layers, 1 << 16));
    return layers;
  }
  int64_t count(const char* name, int64_t otherwise) const { return has(name) ? count(name) : otherwise; }
  bool flag(const char* name, bool otherwise) const {
    if (!has(name)) return otherwise;
    if (!fields_[name].is_boolean()) complain(name, "expected true or false, got " + shown(fields_[name]));
    return fields_[name].get<bool>();
  }
  double positive(const char* name, double otherwise) const {
    if (!has(name)) return otherwise;
    const nlohmann::json& value = fields_[name];
    if (!value.is_number() || !(value.get<double>() > 0))
      complain(name, "expected a number above 0, got " + shown(value));
    return value.get<double>();
  }
  /// The same; 0 counts as absent too, as with Python's `or`.
  double positive_or(const char* name, double otherwise) const {
    return has(name) && fields_[name].is_number() && fields_[name].get<double>() == 0 ? otherwise
                                                                                      : positive(name, otherwise);
  }
  /// A list of numbers above 0.
  std::vector<double> numbers(const char* name) const {
    if (!has(name)) complain(name, "missing");
    std::vector<double> all;
    if (!fields_[name].is_array()) complain(name, "expected a list of numbers, got " + shown(fields_[name]));
    for (const nlohmann::json& each : fields_[name]) {
      if (!each.is_number() || !(each.get<double>() > 0))
        complain(name, "expected numbers above 0, got " + shown(each));
      all.push_back(each.get<double>());
    }
    return all;
  }
  /// An object's fields; nothing if it is absent.
  std::optional<ConfigFields> object(const char* name) const {
    if (!has(name)) return std::nullopt;
    if (!fields_[name].is_object()) complain(name, "expected an object, got " + shown(fields_[name]));
    return ConfigFields(fields_[name], source_ + ": " + name);
  }
  /// Throws Error if both names of one field are given with different values.
  void agree(const char* one, const char* other) const {
    if (has(one) && has(other) && fields_[one] != fields_[other])
      complain(one, fields_[one].is_structured()
                        ? fmt::format("contradicts {}, another name of it", other)
                        : fmt::format("{} contradicts {} = {}", shown(fields_[one]), other, shown(fields_[other])));
  }
  /// The strings in a list.
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> all;
    if (has(name) && fields_[name].is_array())
      for (const nlohmann::json& each : fields_[name])
        if (each.is_string()) all.push_back(each.get<std::string>());
    return all;
  }
  /// A whole number from 0.
  int64_t size(const char* name, int64_t otherwise) const {
    const bool is_zero = has(name) && fields_[name].is_number_integer() && fields_[name] == 0;
    return is_zero ? 0 : count(name, otherwise);
  }
  int64_t entries(const char* name) const { return has(name) ? static_cast<int64_t>(fields_[name].size()) : 0; }
  std::string text(const char* name) const {
    if (!has(name)) complain(name, "missing");
    if (!fields_[name].is_string()) complain(name, "expected a string, got " + shown(fields_[name]));
    return fields_[name].get<std::string>();
  }
  /// The fields that were never read, except nulls.
  std::map<std::string, nlohmann::json> unread() const {
    std::map<std::string, nlohmann::json> rest;
    for (const auto& [name, value] : fields_.items())
      if (!asked_.contains(name) && !value.is_null()) rest.emplace(name, value);
    return rest;
  }

 private:
  static constexpr int64_t most = int64_t{1} << 40;
  const nlohmann::json& fields_;
  std::string source_;
  mutable std::set<std::string> asked_;
};

}  // namespace headroom::models
