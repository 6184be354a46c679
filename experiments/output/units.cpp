#include "experiments/output/units.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace headroom::experiments {

std::string count_text(double count) {
  const char* const units[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t unit = 0;
  while (count >= 999.5 && unit + 1 < std::size(units)) count /= 1000, ++unit;
  return fmt::format("{:.3g} {}", count, units[unit]);
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) bytes /= 1024, ++unit;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

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
