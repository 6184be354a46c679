#include "experiments/output/units.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <vector>

namespace headroom::experiments {
namespace {

/// Formats a number in the first unit that needs no more than three digits; each unit is `factor` times the one before.
std::string in_units(double number, double factor, const std::vector<const char*>& units) {
  size_t unit = 0;
  while (number >= 999.5 && unit + 1 < units.size()) number /= factor, ++unit;
  return fmt::format("{:.3g} {}", number, units[unit]);
}

}  // namespace

std::string count_text(double count) { return in_units(count, 1000, {"", "k", "M", "G", "T", "P", "E"}); }

std::string bytes_text(double bytes) { return in_units(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}); }

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "—";
  if (seconds >= 48 * 3600) return fmt::format("{:.3g} d", seconds / 86400);
  if (seconds >= 2 * 3600) return fmt::format("{:.3g} h", seconds / 3600);
  if (seconds >= 120) return fmt::format("{:.3g} min", seconds / 60);
  const char* const units[] = {"s", "ms", "µs", "ns"};
  size_t unit = 0;
  while (seconds < 0.9995 && unit + 1 < std::size(units)) seconds *= 1000, ++unit;
  return fmt::format("{:.3g} {}", seconds, units[unit]);
}

}  // namespace headroom::experiments
