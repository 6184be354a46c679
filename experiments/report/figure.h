#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "experiments/claims/curve.h"
#include "experiments/results.h"

namespace headroom::experiments {

/// One series of a study, as its figure shows it.
struct FigureSpec {
  const ReportConfig& report;
  const Curve& curve;
  const Overlay* overlay = nullptr;  ///< drawn against a second y axis
  std::string id;                    ///< unique within a page: prefix of the SVG's ids
  std::string title;
};

/// page: colours are the page's CSS variables, so that the figure follows light, dark and print. file: fixed colours on
/// white, for any program that opens an SVG.
enum class Paint { page, file };

/// wide: for a desk or a sheet of paper. narrow: the same figure with type that stays legible on a phone.
enum class Format { wide, narrow };

/// The figure in words, for those who do not see it: its axes, its ends, its smallest value.
std::string figure_description(const FigureSpec& spec);

/// The gnuplot script of the figure: mean ± standard error, best of seeds, points with failed seeds, overlay.
std::string figure_script(const FigureSpec& spec, Format format);

/// The SVG element drawn by `gnuplot`, with title and description for screen readers. Throws Error as run_gnuplot()
/// does.
std::string draw_figure(const std::filesystem::path& gnuplot, const FigureSpec& spec, Format format, Paint paint);

}  // namespace headroom::experiments
