#include "experiments/output/plot/text_width.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "experiments/output/text.h"
#include "experiments/output/wrap.h"
#include "models/files/utf8.h"

namespace headroom::experiments {
namespace {

/// Advance widths of U+0020 to U+007E in DejaVu Sans, in hundredths of an em.
constexpr std::array<uint8_t, 95> kWidths = {
    32, 40, 46, 84, 64, 95, 78, 28, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 69, 69, 70, 77, 63, 58, 78, 75, 30, 30, 66, 56, 86, 75, 79,
    60, 79, 70, 64, 61, 73, 69, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 64, 55, 64, 62, 35, 64,
    64, 28, 28, 58, 28, 98, 64, 61, 64,  64, 41, 52, 39, 64, 59, 82, 59, 59, 53, 64, 34, 64, 84};

/// Widths beyond ASCII by block: letters, accents, punctuation, superscripts, signs, possibly full-width characters.
constexpr std::pair<uint32_t, double> kRanges[] = {{0x300, 0.75}, {0x370, 0},     {0x1100, 0.8}, {0x2000, 1},
                                                   {0x2070, 1},   {0x20A0, 0.55}, {0x2C00, 0.9}};

double ems_of(char32_t c) {
  if (c >= 0x20 && c < 0x20 + kWidths.size()) return 0.01 * kWidths[c - 0x20];
  for (const auto& [end, ems] : kRanges)
    if (c < end) return ems;
  return 1.1;
}

/// The number of bytes of `text` that fit into `ems`, at least one character, and their width.
std::pair<size_t, double> fitting(std::string_view text, double ems) {
  double width = 0;
  for (size_t at = 0; at < text.size();) {
    const auto [c, length] = models::first_code_point(text.substr(at));
    if (width + ems_of(c) > ems && at > 0) return {at, width};
    width += ems_of(c);
    at += std::max<size_t>(length, 1);
  }
  return {text.size(), width};
}

}  // namespace

double width_of(const std::string& text) { return fitting(text, INFINITY).second; }

std::vector<std::string> label_lines(const std::string& text, double ems, size_t most) {
  std::vector<std::string> lines = wrapped(
      one_line(text), [ems](const std::string& rest) { return fitting(rest, ems).first; }, true);
  if (lines.size() <= most) return lines;
  lines.resize(most);
  lines.back() = lines.back().substr(0, fitting(lines.back(), ems - 1).first) + "…";
  return lines;
}

}  // namespace headroom::experiments
