#include "experiments/program/serve/run_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/output/number.h"
#include "experiments/program/serve/emerging.h"
#include "experiments/studies/run/store.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t most_trials = 200, most_points = 300, most_spots = 40, most_kept = 1000;

/// At most about `most` of `size`, the last among them.
bool is_kept(size_t i, size_t size, size_t most) { return i % ((size + most - 1) / most) == 0 || i + 1 == size; }

Layer layer_of(const std::vector<std::pair<int64_t, double>>& points, const std::string& name, size_t number) {
  Layer layer;
  layer.colour = category(number);
  layer.style = static_cast<int>(number / kCategories);
  for (const auto& [step, value] : points)
    if (std::isfinite(value)) layer.marks.push_back({static_cast<double>(step), value});
  const size_t size = layer.marks.size();
  for (size_t i = 0; i < size; ++i)
    if (is_kept(i, size, most_spots))
      layer.marks[i].hover = fmt::format("{}, step {}: {}", name, layer.marks[i].x, rounded(layer.marks[i].y, 4));
  std::vector<Mark> drawn;
  for (size_t i = 0; i < size; ++i)
    if (is_kept(i, size, most_points) || !layer.marks[i].hover.empty()) drawn.push_back(std::move(layer.marks[i]));
  layer.marks = std::move(drawn);
  layer.points = size == 1;
  if (size > 0) layer.legend = fmt::format("{}: {}", name, rounded(layer.marks.back().y, 4));
  return layer;
}

}  // namespace

const RunCurves::Tracks& RunCurves::ended(const RunSnapshot& snapshot, const TrialState& trial) {
  const std::string key = fmt::format("{} {} {}", snapshot.run.name(), trial.entry.id, trial.attempts);
  if (const auto found = ended_.find(key); found != ended_.end()) return found->second;
  if (ended_.size() >= most_kept) ended_.clear();
  Tracks& tracks = ended_[key];
  const RunStore store(snapshot.run.store(), RunStore::Access::read);
  if (const auto record = store.find(trial.entry.id))
    for (const HistoryPoint& point : record->history)
      tracks[point.split + " " + point.metric].emplace_back(point.step, point.value);
  return tracks;
}

Json RunCurves::of(const RunSnapshot& snapshot, const CurvesWanted& wanted) {
  std::vector<const TrialState*> trials;
  for (const TrialState& trial : snapshot.state.trials)
    if (trials.size() < most_trials && std::count(wanted.trials.begin(), wanted.trials.end(), trial.entry.id) > 0)
      trials.push_back(&trial);
  // A series that all of them are of is said once, above the curves.
  const auto is_of_first = [&](const TrialState* t) { return t->entry.series == trials[0]->entry.series; };
  const bool has_one_series = trials.size() > 1 && std::all_of(trials.begin(), trials.end(), is_of_first);

  Plot plot;
  plot.id = "learning-curves";
  plot.x_label = "step";
  plot.y_label =
      wanted.track + (has_one_series && !trials[0]->entry.series.empty() ? ", " + trials[0]->entry.series : "");
  plot.title = "Learning curves: " + plot.y_label;
  std::set<std::string> tracks;
  std::vector<double> steps, values;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < trials.size(); ++i) {
    const TrialState& trial = *trials[i];
    const bool has_ended = trial.phase == TrialPhase::finished || trial.phase == TrialPhase::failed;
    Points points;
    if (has_ended) {
      const Tracks& own = ended(snapshot, trial);
      for (const auto& [track, curve] : own) tracks.insert(track);
      if (const auto found = own.find(wanted.track); found != own.end()) points = found->second;
    } else if (const auto live = snapshot.live.find(trial.entry.id);
               live != snapshot.live.end() && wanted.track == "train loss") {
      points = live->second;
    }
    const std::string name = has_one_series || trial.entry.series.empty()
                                 ? trial.entry.label
                                 : trial.entry.series + ", " + trial.entry.label;
    Layer layer = layer_of(points, name, i);
    if (layer.marks.empty()) continue;
    for (const Mark& mark : layer.marks) steps.push_back(mark.x), values.push_back(mark.y);
    plot.description += fmt::format("{}{}: from {} to {}.", plot.description.empty() ? "" : " ", name,
                                    rounded(layer.marks.front().y), rounded(layer.marks.back().y));
    plot.layers.push_back(std::move(layer));
  }
  Json json = {{"tracks", tracks}};
  if (plot.layers.empty()) return json;
  plot.x = fit_axis(Scale::linear, steps);
  plot.y = fit_axis(wanted.scale, values);
  json.update(figure_json(plot, ""));
  return json;
}

}  // namespace headroom::experiments
