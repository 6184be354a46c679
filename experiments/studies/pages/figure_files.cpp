#include "experiments/studies/pages/figure_files.h"

#include <fmt/format.h>

#include "experiments/output/file.h"
#include "experiments/output/number.h"
#include "experiments/output/plot/converter.h"
#include "experiments/output/plot/pgf.h"
#include "experiments/output/plot/svg.h"
#include "experiments/studies/pages/figure.h"

namespace headroom::experiments {

std::string write_document_figures(const Analysis& study, const std::filesystem::path& folder) {
  const auto converter = find_svg_converter();
  int64_t count = 0;
  for (const Figure& figure : study_figures(study)) {
    if (!figure.is_main) continue;
    const std::string number = ++count > 1 ? fmt::format("-{}", count) : "";
    const std::string stem = fmt::format("{}-{}{}", study.id, study.profile, number);
    make_folder(folder);
    write_file(folder / (stem + ".tex"), pgf_of(figure.plot));
    // A caption stands below it in a document: no title of its own.
    const std::string svg = svg_of(figure.plot, {.surface = Surface::file, .has_title = false});
    if (converter)
      for (const char* ending : {".pdf", ".png"}) convert_svg(*converter, svg, folder / (stem + ending));
  }
  const std::string where = fmt::format("figures {}: {} for LaTeX", folder.string(), counted(count, "figure"));
  if (converter) return fmt::format("{}, as PDF and as PNG\n", where);
  return where + "; for PDF and PNG install rsvg-convert (Debian: librsvg2-bin), inkscape or cairosvg\n";
}

}  // namespace headroom::experiments
