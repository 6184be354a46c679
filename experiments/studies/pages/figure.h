#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/output/plot/plot.h"
#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

/// A plot and what the page says below it.
struct Figure {
  Plot plot;
  std::string caption;
  std::string series;    ///< "" for those of several series
  bool is_main = false;  ///< the page opens with it
};

/// A figure that shows nothing yet.
Figure without_layers(const std::string& id, const std::string& title, const std::string& x_label,
                      const std::string& y_label, const std::string& series = "");

/// Series that are drawn at most: lines of a figure beyond it cannot be told apart, and each series has figures of its
/// own.
inline constexpr size_t most_series_drawn = 24;

/// All figures of a study in the order of its page: several series together, each series alone, further metrics, heat
/// maps, learning curves, predictions; of the first most_series_drawn series. A figure without data is not among them.
/// Ids are unique.
std::vector<Figure> study_figures(const Analysis& results);

/// One series: mean with its 95 % interval, seeds, failed seeds; in a panel below the overlay or a second metric.
std::optional<Figure> curve_figure(const Analysis& results, const std::string& series);

/// The series that figures show, in their order.
std::vector<std::string> drawn_series(const StudyResults& results);

/// Series that share a figure: "copy, RoPE" is in the group "copy", "sinusoidal: the plan" in "sinusoidal".
struct SeriesGroup {
  std::string name;  ///< "" for all series together
  std::vector<std::string> series;
  std::vector<std::string> labels;  ///< their names inside the group: "RoPE"
  std::vector<size_t> colours;      ///< the same label has the same colour in every group
};

/// All drawn series as one group; or, where they are more than there are colours, the groups that their names tell,
/// each of two series at least.
std::vector<SeriesGroup> series_groups(const StudyResults& results);

/// One metric of every series of a group: means with their 95 % intervals.
std::optional<Figure> comparison_figure(const Analysis& results, const FurtherFigure& which, const SeriesGroup& group);

/// The validation metric over x and the values of the first best_of key, the chosen ones framed.
std::optional<Figure> heat_map(const Analysis& results, const std::string& series);

/// The metric along training, a line per x: at the chosen values, mean over seeds.
std::optional<Figure> learning_curves(const Analysis& results, const std::string& series);

/// What the trials of the best x say against what they should say.
std::optional<Figure> prediction_figure(const Analysis& results, const std::string& series);

/// Writes the figures that a study's report begins with into `folder`, as STUDY-PROFILE.tex (pgfplots), .pdf and .png,
/// further ones with -2, -3, …; PDF and PNG by the first converter of SVG that is installed. Returns a line on it.
/// Throws Error naming the file that cannot be written, or as convert_svg() does.
std::string write_document_figures(const Analysis& study, const std::filesystem::path& folder);

}  // namespace headroom::experiments
