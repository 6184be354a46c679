#include "experiments/program/serve/run_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/analysis/verdict.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/pages/answer.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/toml/complaints.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t most_trials = 200, most_points = 300, most_spots = 40, most_kept = 1000;

/// The study of a run; if an earlier program stored it, the shipped one with its id.
Study study_of(const StoredRun& run, const std::string& config) {
  try {
    return stored_study(config, run.profile);
  } catch (const ConfigError&) {
    return load_study(run.study, run.profile);
  }
}

Json made(const StoredRun& run) {
  const auto facts = RunStore(run.store(), RunStore::Access::read).study();
  const auto config = facts.find("config");
  if (config == facts.end()) return Json::object();
  const Study study = study_of(run, config->second);
  const Analysis results = analyse(collect_results(study, run.folder.parent_path().parent_path()));
  const std::vector<Verdict>& verdicts = results.verdicts();
  const bool is_any_judged = std::any_of(verdicts.begin(), verdicts.end(),
                                         [](const Verdict& v) { return v.status != VerdictStatus::not_run; });
  Json json = {{"answer", answer(results).words}, {"headline", ""}};
  if (is_any_judged) json["headline"] = headline(results);
  const std::vector<Figure> figures = study_figures(results);
  const auto main = std::find_if(figures.begin(), figures.end(), [](const Figure& f) { return f.is_main; });
  if (main != figures.end()) json.update(figure_json(main->plot, main->caption));
  return json;
}

/// About `most_points` of the finite points at most, including the first and the last; every few have a text for a
/// pointer.
Layer layer_of(std::vector<std::pair<int64_t, double>> points, const std::string& name, size_t number) {
  std::erase_if(points, [](const auto& point) { return !std::isfinite(point.second); });
  if (points.empty()) return {};
  const size_t size = points.size(), stride = size / most_points + 1;
  Layer layer{.legend = fmt::format("{}: {}", name, rounded(points.back().second, 4)),
              .colour = category(number),
              .style = static_cast<int>(number / kCategories),
              .points = size == 1,
              .marks = {}};
  for (size_t i = 0; i < size; ++i) {
    if (i % stride != 0 && i + 1 != size) continue;
    const auto& [step, value] = points[i];
    Mark& mark = layer.marks.emplace_back(Mark{static_cast<double>(step), value});
    if (i % (size / most_spots / stride * stride + stride) == 0 || i + 1 == size)
      mark.hover = fmt::format("{}, step {}: {}", name, step, rounded(value, 4));
  }
  return layer;
}

}  // namespace

Json figure_json(const Plot& plot, const std::string& caption) {
  Json lines = Json::array();
  for (const Layer& layer : plot.layers)
    if (!layer.legend.empty() && !layer.marks.empty())
      lines.push_back({{"name", layer.legend}, {"swatch", swatch_of(layer)}});
  return {{"caption", caption},
          {"wide", svg_of(plot)},
          {"narrow", svg_of(plot, {.format = Format::narrow})},
          {"named", has_names(plot, Format::wide, false)},
          {"lines", std::move(lines)}};
}

Json EmergingResults::of(const RunSnapshot& snapshot) {
  const int64_t ended = snapshot.state.finished + snapshot.state.failed;
  const std::lock_guard lock(mutex_);
  Kept& kept = kept_[snapshot.run.name()];
  const auto begin = Clock::now();
  if (kept.ended == ended || begin < kept.next) return kept.json;
  try {
    kept.json = made(snapshot.run);
  } catch (const Error&) {
    kept.json = Json::object();  // such as a store of another version; what is wrong with a store, its run's state says
  }
  kept.ended = ended;
  kept.json["ended"] = ended;
  constexpr int rest = 9;  // times as long as the making
  kept.next = Clock::now() + (Clock::now() - begin) * rest;
  return kept.json;
}

Json RunCurves::of(const RunSnapshot& snapshot, const std::vector<std::string>& ids, const std::string& track,
                   Scale scale) {
  require(snapshot.is_read, "{}", snapshot.problem);
  std::vector<const TrialState*> trials;
  for (const TrialState& trial : snapshot.state.trials)
    if (trials.size() < most_trials && std::count(ids.begin(), ids.end(), trial.entry.id) > 0) trials.push_back(&trial);
  // A series that they all share is named once, above the curves.
  const bool is_one_series = trials.size() > 1 && std::all_of(trials.begin(), trials.end(), [&](const TrialState* t) {
                               return t->entry.series == trials[0]->entry.series;
                             });
  Plot plot;
  plot.id = "learning-curves";
  plot.x_label = "step";
  plot.y_label = track + (is_one_series && !trials[0]->entry.series.empty() ? ", " + trials[0]->entry.series : "");
  plot.title = "Learning curves: " + plot.y_label;
  std::set<std::string> tracks;
  std::vector<double> steps, values;
  std::optional<const RunStore> store;
  const std::lock_guard lock(mutex_);
  if (ended_.size() >= most_kept) ended_.clear();
  for (size_t i = 0; i < trials.size(); ++i) {
    const PlanEntry& entry = trials[i]->entry;
    Points points;
    if (trials[i]->phase == TrialPhase::finished || trials[i]->phase == TrialPhase::failed) {
      const std::string key = fmt::format("{} {} {}", snapshot.run.name(), entry.id, trials[i]->attempts);
      auto kept = ended_.find(key);
      if (kept == ended_.end()) {
        if (!store) store.emplace(snapshot.run.store(), RunStore::Access::read);
        std::map<std::string, Points> read;
        if (const auto record = store->find(entry.id))
          for (const HistoryPoint& point : record->history)
            read[point.split + " " + point.metric].emplace_back(point.step, point.value);
        kept = ended_.emplace(key, std::move(read)).first;
      }
      for (const auto& [name, curve] : kept->second) {
        tracks.insert(name);
        if (name == track) points = curve;
      }
    } else if (const auto live = snapshot.live.find(entry.id); live != snapshot.live.end() && track == "train loss") {
      points = live->second;
    }
    const std::string name = is_one_series || entry.series.empty() ? entry.label : entry.series + ", " + entry.label;
    Layer layer = layer_of(std::move(points), name, i);
    if (layer.marks.empty()) continue;
    for (const Mark& mark : layer.marks) steps.push_back(mark.x), values.push_back(mark.y);
    plot.description +=
        fmt::format("{}: from {} to {}. ", name, rounded(layer.marks.front().y), rounded(layer.marks.back().y));
    plot.layers.push_back(std::move(layer));
  }
  Json json = {{"tracks", tracks}};
  if (plot.layers.empty()) return json;
  plot.x = fit_axis(Scale::linear, steps);
  plot.y = fit_axis(scale, values);
  json.update(figure_json(plot, ""));
  return json;
}

}  // namespace headroom::experiments
