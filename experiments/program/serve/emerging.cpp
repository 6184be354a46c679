#include "experiments/program/serve/emerging.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "experiments/output/plot/svg.h"
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

}  // namespace headroom::experiments
