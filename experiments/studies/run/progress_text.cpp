#include "experiments/studies/run/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "experiments/output/number.h"

namespace headroom::experiments {
namespace {

constexpr int most_cells = 28, fewest_cells = 4, wanted_cells = 8;

/// A bar in eighths of a character.
std::string bar(double fraction, int cells) {
  static const char* const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * cells * 8);
  std::string out;
  for (int i = 0; i < filled / 8; ++i) out += "█";
  out += eighths[filled % 8];
  out.append(static_cast<size_t>(cells - (filled + 7) / 8), ' ');
  return "[" + out + "]";
}

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(std::max(seconds, 0.0)));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string progress_text(const ProgressText& at, int columns) {
  constexpr int gap = 3;
  const std::string between(gap, ' ');
  std::string first = at.left ? clock_text(*at.left) + " left" + between : "";
  first += fmt::format("{}/{}", at.done, at.total);
  std::string always;
  if (at.loss && std::isfinite(*at.loss)) always += between + fmt::format("loss {:.4g}", *at.loss);
  if (at.gflops) always += between + fmt::format("{:.3g} GFLOP/s", *at.gflops);
  std::vector<std::string> optional;
  if (!at.label.empty()) {
    optional.push_back(fmt::format("step {}/{}", at.step, at.steps));
    optional.push_back(at.label);
  }
  if (at.left) optional.push_back(clock_text(at.so_far) + " so far");
  int room = columns - static_cast<int>(display_width(first + always));
  constexpr int frame = gap + 2;  // of a bar
  std::string rest;
  for (const std::string& part : optional) {
    const int wanted = gap + static_cast<int>(display_width(part));
    if (columns > 0 && room - wanted < frame + wanted_cells) break;
    room -= wanted;
    rest += between + part;
  }
  const int cells = std::min(room - frame, most_cells);
  const std::string drawn = cells >= fewest_cells ? between + bar(at.fraction, cells) : "";
  const std::string line = first + drawn + always + rest;
  return columns > 0 ? clip(line, static_cast<size_t>(columns)) : line;
}

}  // namespace headroom::experiments
