#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "experiments/output/text.h"
#include "experiments/studies/export/export.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

/// Every number of a trial, in order of (step, split, metric).
std::vector<HistoryPoint> points(const TrialRecord& r, Clock clock) {
  std::vector<HistoryPoint> all = r.history;
  for (const auto& [metric, value] : r.validation) all.push_back({r.steps, "validation_judged", metric, value});
  for (const auto& [metric, value] : r.test) all.push_back({r.steps, "test", metric, value});
  all.push_back({r.steps, "trial", "flops", r.flops});
  all.push_back({r.steps, "trial", "parameters", static_cast<double>(r.parameters)});
  if (clock == Clock::kept) all.push_back({r.steps, "trial", "seconds", r.seconds});
  if (clock == Clock::left_out)
    std::erase_if(all, [](const HistoryPoint& p) { return tasks::is_clock_metric(p.metric); });
  std::stable_sort(all.begin(), all.end(), [](const HistoryPoint& a, const HistoryPoint& b) {
    return std::tie(a.step, a.split, a.metric) < std::tie(b.step, b.split, b.metric);
  });
  return all;
}

tasks::Metrics without_clock(tasks::Metrics metrics, Clock clock) {
  if (clock == Clock::left_out) std::erase_if(metrics, [](const auto& m) { return tasks::is_clock_metric(m.first); });
  return metrics;
}

}  // namespace

void export_csv(const StoredTrials& trials, Clock clock, const TextSink& out) {
  out(csv_row({"study", "profile", "config", "seed", "trial", "status", "step", "split", "metric", "value"}));
  trials.each([&](const StoredPlace& place, const TrialRecord& trial) {
    std::string rows;
    for (const HistoryPoint& p : points(trial, clock))
      rows +=
          csv_row({place.study, place.profile, place.config, fmt::format("{}", trial.seed), trial.id,
                   name_of(trial.status), fmt::format("{}", p.step), p.split, p.metric, fmt::format("{}", p.value)});
    out(rows);
  });
}

void export_json(const StoredTrials& trials, Clock clock, const TextSink& out) {
  bool is_first = true;
  trials.each([&](const StoredPlace& place, const TrialRecord& r) {
    Json history = Json::array();
    for (const HistoryPoint& p : r.history)
      history.push_back({{"step", p.step}, {"split", p.split}, {"metric", p.metric}, {"value", p.value}});
    Json entry = {{"study", place.study}, {"profile", place.profile}, {"trial", r.id}};
    entry["config"] = Json::parse(r.config, nullptr, false);
    if (entry["config"].is_discarded()) entry["config"] = nullptr;
    entry.update({{"seed", r.seed},
                  {"status", name_of(r.status)},
                  {"message", r.message},
                  {"steps", r.steps},
                  {"parameters", r.parameters},
                  {"flops", r.flops}});
    if (clock == Clock::kept) entry["seconds"] = r.seconds;
    entry.update({{"validation", without_clock(r.validation, clock)},
                  {"test", without_clock(r.test, clock)},
                  {"test_parts", r.test_parts},
                  {"history", history},
                  {"predictions", r.predictions},
                  {"data", r.data},
                  {"code", r.code}});
    if (!place.tags.empty()) entry["tags"] = place.tags;
    if (!place.notes.empty()) entry["notes"] = place.notes;
    const std::string text = Json::array({entry}).dump(1, ' ', false, Json::error_handler_t::replace);
    // Its lines without the brackets of a list of one.
    out((is_first ? "[\n" : ",\n") + text.substr(2, text.size() - 4));
    is_first = false;
  });
  out(is_first ? "[]\n" : "\n]\n");
}

}  // namespace headroom::experiments
