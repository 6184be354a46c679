#include "experiments/studies/config/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "experiments/studies/toml/value.h"

namespace headroom::experiments {
namespace {

constexpr size_t most_of_name = 60;

bool is_kept(char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '=' || c == '-'; }

/// FNV-1a, 32 bits: the name of a run's folder must be the same on every machine.
uint32_t checksum(const std::string& text) {
  uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

std::string run_name(const std::string& profile, const std::vector<std::string>& overrides) {
  if (overrides.empty()) return profile;
  std::string plain, all;
  bool is_exact = true;
  for (const std::string& setting : overrides) {
    all += setting + '\n';
    if (!plain.empty()) plain += ',';
    for (const char c : setting) {
      if (c == ' ' || c == '"' || c == '\'') continue;
      plain += is_kept(c) ? c : '_';
      is_exact = is_exact && is_kept(c);
    }
  }
  constexpr size_t digits = 9;  // a dash and the checksum
  if (!is_exact || plain.size() > most_of_name)
    plain = fmt::format("{}-{:08x}", plain.substr(0, most_of_name - digits), checksum(all));
  return profile + "+" + plain;
}

bool is_run_name(const std::string& name) {
  const size_t plus = name.find('+');
  if (!is_folder_name(name.substr(0, plus))) return false;
  if (plus == std::string::npos) return true;
  const std::string settings = name.substr(plus + 1);
  return !settings.empty() && settings.size() <= most_of_name &&
         std::all_of(settings.begin(), settings.end(), [](char c) { return is_kept(c) || c == ',' || c == '+'; });
}

}  // namespace headroom::experiments
