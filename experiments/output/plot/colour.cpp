#include "experiments/output/plot/colour.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace headroom::experiments {
namespace {

struct Shades {
  const char *variable, *light, *dark;
};
constexpr std::array<Shades, static_cast<size_t>(Colour::end)> kShades = {{
    {"--ink", "#23272e", "#e3e6ea"},
    {"--muted", "#667080", "#98a1ae"},
    {"--grid", "#e6e8ec", "#2b3038"},
    {"--theory", "#a8500f", "#eda66c"},
    {"--warn", "#b3261e", "#ff938a"},
    // Unordered: they differ for colour-blind readers too, and have enough contrast for text.
    {"--c0", "#3330b2", "#c5d4fc"},
    {"--c1", "#d53d1a", "#d89812"},
    {"--c2", "#0f5e46", "#04a280"},
    {"--c3", "#a636f4", "#a374d3"},
    {"--c4", "#5f4218", "#e3db2d"},
    {"--c5", "#bc3a85", "#ed515a"},
    {"--c6", "#0d7c92", "#26edc1"},
    {"--c7", "#515c62", "#8fa5ac"},
    // Ordered: the spectrum, darkened on paper, lightened on black.
    {"--r0", "#3b1f8f", "#a592f0"},
    {"--r1", "#3f50b5", "#8fa4ff"},
    {"--r2", "#2e75bc", "#74bdf7"},
    {"--r3", "#187d90", "#5fd0de"},
    {"--r4", "#1a8063", "#5fd8b0"},
    {"--r5", "#487d2f", "#9ad977"},
    {"--r6", "#80710b", "#d6cf5e"},
    {"--r7", "#ad5e13", "#f3b25f"},
    {"--r8", "#c9402a", "#f78a72"},
}};

const Shades& shades_of(Colour colour) { return kShades.at(static_cast<size_t>(colour)); }

}  // namespace

Colour category(size_t i) { return static_cast<Colour>(static_cast<size_t>(Colour::first_category) + i % kCategories); }

Colour ramp(double share) {
  const double at = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) * static_cast<double>(kRamp - 1) : 0;
  return static_cast<Colour>(static_cast<long>(Colour::first_ramp) + std::lround(at));
}

const char* shade_of(Colour colour, bool is_dark) { return is_dark ? shades_of(colour).dark : shades_of(colour).light; }

std::string page_colour(Colour colour) { return fmt::format("var({})", shades_of(colour).variable); }

std::string colour_variables(bool is_dark) {
  std::string out;
  for (const Shades& one : kShades) out += fmt::format("{}: {}; ", one.variable, is_dark ? one.dark : one.light);
  return out;
}

}  // namespace headroom::experiments
