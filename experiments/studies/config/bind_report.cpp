#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/config/bind.h"
#include "experiments/studies/toml/expression.h"
#include "experiments/studies/toml/reader.h"
#include "tasks/attention_lags.h"
#include "tasks/compression/lowrank_measurement.h"
#include "tasks/measure/attention_heads.h"
#include "tasks/measure/spectra_measurement.h"

namespace headroom::experiments {
namespace {

const std::vector<std::pair<const char*, Scale>> axis_scales{
    {"linear", Scale::linear}, {"log2", Scale::log2}, {"log10", Scale::log10}};

/// Metrics of tasks and trials, except for the many numbers of studies of trained models.
constexpr const char* named_metrics =
    "relative_mse mse error_l2 bound cross_entropy perplexity bits_per_char accuracy masked_accuracy excess "
    "cross_entropy_all cross_entropy_response forward_gflop layer_gflop forward_ms backward_ms update_ms step_ms "
    "forward_gflops backward_gflops peak_gflops share_of_peak backward_share_of_peak sup_error worst_case "
    "sharp_bound tightness l1 log10_ratio log10_gain f32_error bf16_error f64_error f32_limit bf16_limit "
    "mean_square distance tail union_residual jacobian_norm scaled_norm log10_paper log10_sharp log10_spread "
    "log10_gershgorin log10_tightest query_error late_rms late_frobenius map_error logit_error logit_tightness "
    "least_error pairs_error mixed_error lower_bound median_start worst_start starts_reached gain";

/// Metrics that single keys ask for: attention by lag (task.attention_lags), train.steps_to.
std::vector<std::string> asked_metrics() {
  std::vector<std::string> names{"steps_to", "match_share", "peaks_off_plan", "centres_off_plan"};
  for (const char* prefix : {"", "layer_1_", "layer_2_"})
    for (const std::string& name : tasks::head_lag_names(tasks::most_attention_lags, prefix)) names.push_back(name);
  return names;
}

/// Metrics that a figure may show, of the `possible` ones; all, if nothing is known of the trials.
std::vector<std::string> metrics(const std::set<std::string>& possible) {
  std::istringstream named(named_metrics);
  std::vector<std::string> names{std::istream_iterator<std::string>(named), {}};
  for (const auto& more : {tasks::attention_metrics(), tasks::spectra_metrics(), tasks::head_distillation_metrics(),
                           tasks::two_stage_metrics(), tasks::lowrank_metrics(), asked_metrics()})
    for (const std::string& name : more)
      if ((possible.empty() || possible.contains(name)) && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  return names;
}

/// Lists the names that a figure may show: "mse, relative_mse".
std::string drawable(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& metric : metrics(names))
    if (names.contains(metric)) text += (text.empty() ? "" : ", ") + metric;
  return text;
}

Measure bind_measure(Reader& in, const Default<std::string>& fallback, const std::set<std::string>& possible) {
  Measure measure;
  const size_t problems = in.problems().size();
  measure.metric = in.word("metric", fallback, metrics(possible), "its name");
  if (in.problems().size() == problems && !possible.empty() && !possible.contains(measure.metric))
    in.complain("metric", fmt::format("the task gives no {}; expected one of {}", measure.metric, drawable(possible)));
  in.set("scale", measure.scale, axis_scales, "of the axis");
  measure.label = in.text("label", {measure.metric, "the metric"}, "name on the axis");
  return measure;
}

/// Checks keys and expressions here: errors would otherwise surface only after all trials have trained.
LawConfig bind_law(Reader& in, const std::set<std::string>& numbers) {
  LawConfig law;
  law.of = in.texts("of", "keys of the trials that it is fitted over, such as \"model.width\"");
  if (law.of.empty()) in.complain("of", "missing: the keys that the law is of");
  for (const std::string& path : law.of)
    if (!numbers.empty() && !numbers.contains(path))
      in.complain("of", fmt::format("\"{}\" is not always a number", excerpt(path)));
  law.beside = in.text("beside", "", "an expression over the last words of these keys that is to say the same");
  if (law.beside.empty()) return law;
  const auto stand_in = [&](const std::string& name) -> double {
    for (size_t k = 0; k < law.of.size(); ++k)
      if (law.of[k] == name || last_word(law.of[k]) == name) return 2 + static_cast<double>(k);
    fail("{} is none of its keys", name);
  };
  in.attempt("beside", [&] { evaluate(law.beside, stand_in); });
  return law;
}

}  // namespace

ReportConfig bind_report(Reader& in, const ReportScope& scope) {
  ReportConfig report;
  in.table("x", "the number on the x axis", [&](Reader& x) {
    report.x_key =
        x.text("key", std::nullopt, "its path, such as \"model.heads\": a swept key, or one that follows from it");
    report.x_label = x.text("label", {split_path(report.x_key).back(), "its last word"}, "name on the axis");
    x.set("scale", report.x_scale, axis_scales, "of the axis");
  });
  in.table("y", "the metric on the y axis, which claims speak of", [&](Reader& y) {
    const Measure measure = bind_measure(y, "relative_mse", scope.everywhere);
    report.y_metric = measure.metric;
    report.y_label = measure.label;
    report.y_scale = measure.scale;
  });
  in.tables("also", "further metrics, a figure each", [&](Reader& also) {
    FurtherFigure figure{.y = bind_measure(also, std::nullopt, scope.anywhere), .over = {}};
    also.optional_table("over", "a metric on the x axis, in place of the study's x",
                        [&](Reader& over) { figure.over = bind_measure(over, std::nullopt, scope.anywhere); });
    report.also.push_back(std::move(figure));
  });
  in.optional_table("right", "a second metric, in a panel of its own",
                    [&](Reader& right) { report.right = bind_measure(right, std::nullopt, scope.anywhere); });
  in.optional_table("law", "the x at which each series is best, fitted as a power law of keys",
                    [&](Reader& law) { report.law = bind_law(law, scope.numbers); });
  in.set("heat_map", report.heat_map, "a map of the metric over x and the first best_of key");
  in.set("learning_curves", report.learning_curves, "metrics over steps, a line per x");
  in.set("predictions", report.predictions, "output against target, for the best x");
  return report;
}

}  // namespace headroom::experiments
