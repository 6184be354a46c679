#include "experiments/claims/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headroom::experiments {
namespace {

/// "1.20e-04" → "1.20e-4": C's two-digit exponent reads badly in a table.
std::string short_exponent(std::string text) {
  const size_t e = text.find('e');
  if (e == std::string::npos) return text;
  size_t digit = e + 1;
  if (text[digit] == '+') text.erase(digit, 1);
  if (text[digit] == '-') ++digit;
  while (digit + 1 < text.size() && text[digit] == '0') text.erase(digit, 1);
  return text;
}

}  // namespace

std::string rounded(double value, int digits) {
  if (std::isnan(value)) return "—";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  if (value == 0) return "0";
  // The exponent after rounding: 0.9996 is 1.00.
  const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -3 || exponent > 5) return short_exponent(scientific);
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string rounded_beside(double value, std::optional<double> limit) {
  constexpr int most_digits = 9;
  int digits = 3;
  while (limit && value != *limit && digits < most_digits && rounded(value, digits) == rounded(*limit, digits))
    ++digits;
  return rounded(value, digits);
}

std::string exact(double value) { return short_exponent(fmt::format("{}", value)); }

std::string probability(double p) {
  if (std::isnan(p)) return "—";
  return short_exponent(fmt::format("{:.{}g}", p, p < 0.1 ? 1 : 2));
}

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

size_t display_width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) out += row[i] + std::string(widths[i] - display_width(row[i]) + 3, ' ');
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

}  // namespace headroom::experiments
