#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace headroom::experiments {

/// A program of the user's that turns SVG files into others.
struct SvgConverter {
  std::string name;
  std::filesystem::path program;
};

/// The first on PATH of rsvg-convert, inkscape and cairosvg.
std::optional<SvgConverter> find_svg_converter();

/// Converts a figure, as svg_of() draws it for a file, to `target`, a PDF, or a PNG of twice the size, by its
/// extension: in the colours for light pages. Throws Error with the program's own words when it fails or takes longer
/// than a minute.
void convert_svg(const SvgConverter& converter, const std::string& svg, const std::filesystem::path& target);

}  // namespace headroom::experiments
