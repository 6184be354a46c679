#include "experiments/output/plot/converter.h"

#include <system_error>
#include <vector>

#include "engine/error.h"
#include "experiments/output/program.h"

namespace headroom::experiments {

std::optional<SvgConverter> find_svg_converter() {
  for (const char* name : {"rsvg-convert", "inkscape", "cairosvg"})
    if (const auto program = find_program(name)) return SvgConverter{name, *program};
  return std::nullopt;
}

void convert_svg(const SvgConverter& converter, const std::string& svg, const std::filesystem::path& target) {
  // Some converters know no media queries, so they get the light colours only.
  std::string drawing = svg;
  if (const size_t begin = drawing.find("<style>"), end = drawing.find("</style>"); end != std::string::npos)
    drawing.erase(begin, end + 8 - begin);
  const bool is_pdf = target.extension() == ".pdf";
  const std::string to = std::filesystem::absolute(target).string(), scale = is_pdf ? "1" : "2";
  std::vector<std::string> arguments{"-", "--scale", scale, "--output", to};  // cairosvg
  if (converter.name == "rsvg-convert")
    arguments = {"--format", is_pdf ? "pdf" : "png", "--zoom", scale, "--output", to};
  if (converter.name == "inkscape") arguments = {"--pipe", "--export-dpi=192", "--export-filename=" + to};
  const ProgramResult result = run_program(converter.program, arguments, drawing, 60);
  std::error_code none;
  require(result.status == 0 && std::filesystem::exists(target, none), "{}: {} failed with status {}: {}",
          target.string(), converter.name, result.status, joined_lines(result.errors));
}

}  // namespace headroom::experiments
