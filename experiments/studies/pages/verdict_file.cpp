#include "experiments/studies/pages/verdict_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/config/trial_facts.h"
#include "experiments/studies/words/verdict_words.h"
#include "models/files/entries_of.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The fields that decide the verdict, without those that are not set.
Json claim_json(const ClaimConfig& c) {
  Json out = {
      {"name", claim_name(c)}, {"kind", c.kind->name}, {"series", c.series}, {"paper", c.paper}, {"ours", c.ours}};
  const std::pair<const char*, const std::string*> texts[] = {
      {"theorem", &c.theorem}, {"sentence", &c.sentence},       {"metric", &c.metric},
      {"because", &c.because}, {"single_rate", &c.single_rate}, {"worded_after", &c.worded_after}};
  for (const auto& [key, text] : texts)
    if (!text->empty()) out[key] = *text;
  if (!c.reference.empty()) out["reference"] = c.reference;
  if (!c.keys.among.empty()) out["among"] = c.keys.among;
  const std::pair<const char*, std::optional<double>> numbers[] = {{"at", c.keys.at},
                                                                   {"from", c.from},
                                                                   {"to", c.to},
                                                                   {"learned_at", c.learned_at},
                                                                   {"low", c.keys.limits.low},
                                                                   {"high", c.keys.limits.high},
                                                                   {"value", c.keys.value}};
  for (const auto& [key, number] : numbers)
    if (number) out[key] = *number;
  out.update({{"factor", c.keys.factor}, {"significance", c.significance}, {"log_error", c.log_error}});
  if (c.deterministic) out["deterministic"] = true;
  if (!c.id.empty()) out["id"] = c.id;
  if (!c.excludes.empty()) out["excludes"] = c.excludes;
  return out;
}

double number(const Json& node, const char* key) {
  return node.contains(key) && node[key].is_number() ? node[key].get<double>() : Verdict::none;
}

StoredVerdict read_verdict(const Json& node) {
  StoredVerdict v;
  const Json& claim = node.at("claim");
  v.claim = claim.at("name").get<std::string>();
  for (const ClaimSource source : {ClaimSource::ours, ClaimSource::theorem, ClaimSource::paper})
    if (const std::string words = claim.value(name(source), ""); !words.empty()) v.source = source, v.says = words;
  v.tests = claim.value("sentence", "");
  v.status = node.at("status").get<std::string>();
  v.measured = number(node, "measured");
  if (const double paper = number(node, "paper"); !std::isnan(paper)) v.paper = paper;
  v.summary = node.value("summary", "");
  v.sentence = node.value("sentence", "");
  for (const Json& pair : node.value("beside", Json::array()))
    v.beside.emplace_back(pair.at("path").get<PaperPath>(), number(pair, "value"));
  v.model = node.value("model", "");
  return v;
}

StoredVerdicts read_stored(const Json& node) {
  StoredVerdicts study{node.at("study").get<std::string>(), node.at("profile").get<std::string>(), {}};
  for (const Json& verdict : node.at("verdicts")) study.verdicts.push_back(read_verdict(verdict));
  for (const Json& beside : node.value("beside", Json::array()))
    study.beside.push_back(
        {beside.at("path").get<PaperPath>(), number(beside, "value"), beside.at("model").get<std::string>()});
  return study;
}

/// The trained model that each series ran on; "" for series that train their own: a series has one task.
std::map<std::string, std::string> models_of(const Analysis& results) {
  std::map<std::string, std::string> models;
  for (const TrialRecord& trial : results.trials) {
    if (models.contains(trial.series)) continue;  // a series has one task
    const fs::path path(results.facts(trial).studied_model);
    models.emplace(trial.series, (path.extension() == ".gguf" ? path.stem() : path.filename()).string());
  }
  return models;
}

/// The numbers of [[report.beside]]: means over the seeds at each x that the paper's column has.
std::vector<StoredBeside> numbers_beside(const Analysis& results, const std::map<std::string, std::string>& models) {
  std::vector<StoredBeside> numbers;
  for (const BesidePaper& b : results.report.beside) {
    const std::string series = b.series.empty() ? series_names(results).front() : b.series;
    const auto model = models.find(series);
    const auto column = paper_points(b.path);
    for (const Point& point : results.curve(series, b.metric).points) {
      if (!std::isfinite(point.mean) || (b.at && point.x != *b.at)) continue;
      PaperPath path = b.path;
      if (!column.empty()) {
        if (std::none_of(column.begin(), column.end(), [&](const auto& paper) { return paper.first == point.x; }))
          continue;
        path.push_back(exact(point.x));
      }
      numbers.push_back({path, point.mean, model == models.end() ? "" : model->second});
    }
  }
  return numbers;
}

/// Of a verdict all that decides it, and what is kept of it.
Json verdict_json(const Verdict& v, const StoredVerdict& kept) {
  Json numbers = Json::object(), intervals = Json::array(), beside = Json::array();
  for (const auto& [key, value] : v.numbers) numbers[key] = value;  // null where not finite
  for (const ConfidenceInterval& i : v.intervals)
    intervals.push_back({{"name", i.name},
                         {"value", i.value},
                         {"low", i.low},
                         {"high", i.high},
                         {"level", i.level},
                         {"method", i.method}});
  for (const auto& [path, value] : kept.beside) beside.push_back({{"path", path}, {"value", value}});
  Json out = {{"claim", claim_json(v.claim)}, {"status", kept.status}, {"measured", kept.measured}, {"p", v.p}};
  out["p_against"] = v.p_against;
  if (v.seeds_needed) out["seeds_needed"] = *v.seeds_needed;
  out["intervals"] = intervals;
  if (!v.why.empty()) out["why"] = v.why;
  out["paper"] = kept.paper ? Json(*kept.paper) : Json();
  out.update({{"numbers", numbers},
              {"beside", beside},
              {"summary", kept.summary},
              {"sentence", kept.sentence},
              {"notes", v.notes}});
  if (!kept.model.empty()) out["model"] = kept.model;
  return out;
}

}  // namespace

StoredVerdicts stored(const Analysis& results) {
  std::map<std::string, std::string> models = models_of(results);
  StoredVerdicts out{results.id, results.profile, {}, numbers_beside(results, models)};
  for (const Verdict& v : results.verdicts())
    out.verdicts.push_back({claim_name(v.claim), source(v.claim), own_words(v.claim), name(v.status), v.measured,
                            v.paper, summary(v), sentence(v), v.beside, models[series_of(results, v.claim).front()],
                            v.claim.sentence});
  return out;
}

Json verdict_tree(const Analysis& results) {
  const StoredVerdicts kept = stored(results);
  Json list = Json::array(), besides = Json::array();
  for (size_t i = 0; i < kept.verdicts.size(); ++i)
    list.push_back(verdict_json(results.verdicts()[i], kept.verdicts[i]));
  for (const StoredBeside& b : kept.beside)
    besides.push_back({{"path", b.path}, {"value", b.value}, {"model", b.model}});
  Json all = {{"study", kept.study}, {"profile", kept.profile}, {"verdicts", list}};
  if (!besides.empty()) all["beside"] = besides;
  if (const auto& seal = results.seal)
    all["seal"] = {{"at", seal->at}, {"begun_before", seal->begun_before}, {"changes", seal->changes}};
  return all;
}

std::string verdicts_json(const Analysis& results) {
  return verdict_tree(results).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<StoredVerdicts> read_verdicts(const fs::path& out) {
  std::vector<StoredVerdicts> all;
  for (const fs::path& study : models::visible_folders(out)) {
    for (const fs::path& profile : models::visible_folders(study)) {
      const fs::path path = profile / "verdicts.json";
      if (!fs::exists(path)) continue;
      const std::string text = models::read_file(path, {"file of verdicts", uint64_t{1} << 26, false});
      try {
        all.push_back(read_stored(Json::parse(text)));
      } catch (const nlohmann::json::exception&) {
        fail("{}: not a file of verdicts as this version writes them; headroom report STUDY writes it again",
             path.string());
      }
    }
  }
  return all;
}

std::string verdict_table(const std::vector<StoredVerdicts>& all, size_t columns) {
  std::vector<std::vector<std::string>> rows;
  for (const StoredVerdicts& one : all) {
    for (const StoredVerdict& v : one.verdicts) {
      const bool judged = v.status != "not run";
      rows.push_back({fmt::format("{} · {}", one.study, one.profile), v.claim, v.status,
                      !judged             ? v.sentence
                      : v.summary.empty() ? rounded(v.measured)
                                          : v.summary,
                      v.paper ? "paper " + exact(*v.paper) : std::string()});
    }
  }
  return aligned(rows, columns);
}

std::string verdict_list_json(const std::vector<StoredVerdicts>& all) {
  Json list = Json::array();
  for (const StoredVerdicts& one : all) {
    for (const StoredVerdict& v : one.verdicts) {
      Json paper;
      if (v.paper) paper = *v.paper;
      else if (v.source == ClaimSource::paper) paper = v.says;
      list.push_back({{"study", one.study},
                      {"claim", v.claim},
                      {"source", name(v.source)},
                      {"verdict", v.status},
                      {"measured", v.measured},
                      {"paper", paper}});
      if (!v.tests.empty()) list.back()["sentence"] = v.tests;
    }
  }
  return list.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace headroom::experiments
