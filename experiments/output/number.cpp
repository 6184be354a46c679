#include "experiments/output/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/text.h"
#include "experiments/output/wrap.h"
#include "tasks/language/utf8.h"

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

/// The decimal exponent of a value as printed with `digits` digits: 0 for 0.9996 with three.
int printed_exponent(double value, int digits) {
  const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  return std::stoi(scientific.substr(scientific.find('e') + 1));
}

/// True if a number with this exponent reads better in scientific notation.
bool is_scientific(int exponent) { return exponent < -3 || exponent > 5; }

/// The widest cell of each column.
std::vector<size_t> column_widths(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

}  // namespace

std::string rounded(double value, int digits) {
  if (std::isnan(value)) return "—";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  if (value == 0) return "0";
  const int exponent = printed_exponent(value, digits);
  if (is_scientific(exponent)) return short_exponent(fmt::format("{:.{}e}", value, digits - 1));
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string with_error(double mean, double error) {
  constexpr double rounding = 1e-12;  // error within which values count as equal
  if (!std::isfinite(mean) || !std::isfinite(error) || error <= rounding * std::abs(mean)) return rounded(mean);
  const bool leads_with_one = fmt::format("{:.1e}", error)[0] == '1';
  const int last = printed_exponent(error, leads_with_one ? 2 : 1) - (leads_with_one ? 1 : 0);
  const int first = std::max(printed_exponent(std::max(std::abs(mean), error), 3), last);
  const int shift = is_scientific(first) ? first : 0;
  const double unit = std::pow(10.0, shift);
  const std::string text = fmt::format("{0:.{2}f} ± {1:.{2}f}", mean / unit, error / unit, std::max(0, shift - last));
  return shift == 0 ? text : fmt::format("({})e{}", text, shift);
}

std::string rounded_beside(double value, std::optional<double> limit) {
  constexpr int most_digits = 9;
  int digits = 3;
  while (limit && value != *limit && digits < most_digits && rounded(value, digits) == rounded(*limit, digits))
    ++digits;
  return rounded(value, digits);
}

std::string exact(double value) { return short_exponent(fmt::format("{}", value)); }

std::string range_text(const std::set<double>& values) {
  if (values.empty()) return "";
  const std::string least = exact(*values.begin());
  return values.size() == 1 ? least : fmt::format("{} to {}", least, exact(*values.rbegin()));
}

std::string probability(double p) {
  if (std::isnan(p)) return "—";
  return short_exponent(fmt::format("{:.{}g}", p, p < 0.1 ? 1 : 2));
}

std::string signed_percent(double percent) {
  if (std::isnan(percent)) return "—";
  if (std::isinf(percent)) return percent > 0 ? "+∞ %" : "−∞ %";
  return std::abs(percent) < 1e6 ? fmt::format("{:+.2f} %", percent)
                                 : (percent > 0 ? "+" : "") + rounded(percent) + " %";
}

std::string counted(int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

size_t display_width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), tasks::begins_code_point));
}

std::string clip(const std::string& text, size_t columns) {
  for (size_t at = 0; at < text.size(); ++at)
    if (tasks::begins_code_point(text[at]) && columns-- == 0) return text.substr(0, at);
  return text;
}

std::string aligned(const std::vector<std::vector<std::string>>& given) {
  std::vector<std::vector<std::string>> rows = given;
  for (auto& row : rows) std::transform(row.begin(), row.end(), row.begin(), one_line);
  const std::vector<size_t> widths = column_widths(rows);
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) out += row[i] + std::string(widths[i] - display_width(row[i]) + 3, ' ');
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string aligned(const std::vector<std::vector<std::string>>& rows, size_t columns) {
  constexpr size_t gap = 3, narrowest = 10;
  std::vector<size_t> widths = column_widths(rows);
  size_t total = widths.empty() ? 0 : gap * (widths.size() - 1);
  for (const size_t width : widths) total += width;
  if (columns == 0 || total <= columns) return aligned(rows);
  for (; total > columns; --total) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= narrowest) break;
    --*widest;
  }
  std::vector<std::vector<std::string>> broken;
  for (const auto& row : rows) {
    const size_t first = broken.size();
    broken.emplace_back(row.size());
    for (size_t i = 0; i < row.size(); ++i) {
      const auto fitting = [&](const std::string& rest) { return clip(rest, widths[i]).size(); };
      const std::vector<std::string> lines = wrapped(row[i], fitting);
      broken.resize(std::max(broken.size(), first + lines.size()));
      for (size_t line = 0; line < lines.size(); ++line) {
        std::vector<std::string>& target = broken[first + line];
        target.resize(std::max(target.size(), i + 1));
        target[i] = lines[line];
      }
    }
  }
  return aligned(broken);
}

}  // namespace headroom::experiments
