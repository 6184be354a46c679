#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace headroom::experiments {

/// An installed program that converts SVG files.
struct SvgConverter {
  std::string name;
  std::filesystem::path program;
};

/// The first of rsvg-convert, inkscape and cairosvg on PATH.
std::optional<SvgConverter> find_svg_converter();

/// Converts a figure drawn by svg_of() for a file to `target`: a PDF, or a PNG of twice the size, by its extension, in
/// the colours for light pages. Throws Error with the converter's message if it fails or takes over a minute.
void convert_svg(const SvgConverter& converter, const std::string& svg, const std::filesystem::path& target);

}  // namespace headroom::experiments
