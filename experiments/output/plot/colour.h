#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace headroom::experiments {

inline constexpr size_t kCategories = 8, kRamp = 9;

/// A colour of a figure by its role. Each has a shade for light pages and one for dark ones.
enum class Colour : uint8_t {
  ink,
  muted,
  grid,
  theory,
  warning,
  first_category,
  first_ramp = first_category + kCategories,
  end = first_ramp + kRamp
};

/// The colour of the i-th of several unordered things, such as series; repeats after kCategories. Neighbours differ
/// also for readers who cannot tell red from green.
Colour category(size_t i);

/// The colour at `share` (0 to 1) of a spectrum: for ordered lines, such as growing head counts.
Colour ramp(double share);

/// "#2457a6": its shade on a light page, or on a dark one.
const char* shade_of(Colour colour, bool is_dark);

/// The colour's name in a page: "var(--c0)".
std::string page_colour(Colour colour);

/// The CSS custom properties behind page_colour(): "--ink: #23272e; …".
std::string colour_variables(bool is_dark);

}  // namespace headroom::experiments
