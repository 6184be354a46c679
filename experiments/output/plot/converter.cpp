#include "experiments/output/plot/converter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>
#include <vector>

#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/output/program.h"
#include "experiments/output/text.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// A browser prints pages: one of the figure's size around it, in `folder`, and how it is called.
std::vector<std::string> browser_arguments(const fs::path& folder, const std::string& svg, const fs::path& target) {
  double width = 0, height = 0;
  const size_t box = svg.find("viewBox");
  require(box != std::string::npos && std::sscanf(svg.c_str() + box, "viewBox=\"0 0 %lf %lf", &width, &height) == 2,
          "{}: is drawn from no figure", target.string());
  const fs::path page = fs::absolute(folder) / "figure.html";
  write_file(page,
             fmt::format("<!DOCTYPE html><meta charset=\"utf-8\"/><style>@page {{ size: {0}px {1}px; margin: 0 }} "
                         "body {{ margin: 0; width: {0}px; height: {1}px }} svg {{ display: block }}</style>{2}",
                         width, height, svg));
  std::vector<std::string> out{"--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                               "--user-data-dir=" + page.parent_path().string()};
  if (geteuid() == 0) out.emplace_back("--no-sandbox");
  if (target.extension() == ".pdf")
    out.insert(out.end(), {"--no-pdf-header-footer", "--print-to-pdf=" + target.string()});
  else
    out.insert(out.end(),
               {"--force-device-scale-factor=2", "--default-background-color=00000000",
                fmt::format("--window-size={:.0f},{:.0f}", width, height), "--screenshot=" + target.string()});
  out.push_back("file://" + page.string());
  return out;
}

}  // namespace

std::optional<SvgConverter> find_svg_converter() {
  for (const char* name : {"rsvg-convert", "inkscape", "cairosvg", "chromium", "chromium-browser", "google-chrome"})
    if (const auto program = find_program(name)) return SvgConverter{name, *program};
  return std::nullopt;
}

void convert_svg(const SvgConverter& converter, const std::string& svg, const fs::path& target) {
  // Not every converter knows media queries: it gets the light colours alone.
  std::string drawing = svg;
  if (const size_t begin = drawing.find("<style>"), end = drawing.find("</style>"); end != std::string::npos)
    drawing.erase(begin, end + 8 - begin);
  const bool is_pdf = target.extension() == ".pdf";
  const std::string to = fs::absolute(target).string(), scale = is_pdf ? "1" : "2";
  const fs::path folder = to + ".browser";
  std::vector<std::string> arguments;
  if (converter.name == "rsvg-convert")
    arguments = {"--format", is_pdf ? "pdf" : "png", "--zoom", scale, "--output", to};
  else if (converter.name == "inkscape") arguments = {"--pipe", "--export-dpi=192", "--export-filename=" + to};
  else if (converter.name == "cairosvg") arguments = {"-", "--scale", scale, "--output", to};
  else make_folder(folder), arguments = browser_arguments(folder, drawing, to);
  const ProgramResult result = run_program(converter.program, arguments, drawing, 60);
  std::error_code none;
  fs::remove_all(folder, none);
  require(result.status == 0 && fs::exists(target, none), "{}: {} failed with status {}: {}", target.string(),
          converter.name, result.status, clean(result.errors));
}

}  // namespace headroom::experiments
