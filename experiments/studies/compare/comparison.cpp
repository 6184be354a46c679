#include "experiments/studies/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/analysis/case.h"
#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/analysis/estimate.h"
#include "experiments/studies/analysis/statistics.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/config/trial_facts.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/toml/document.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

/// "A", "B", …
std::string side_name(size_t place) { return std::string(1, static_cast<char>('A' + place)); }

/// What a store holds of its plan, as an Analysis needs it.
struct Loaded {
  Comparison::Side side;
  StudyResults results;
  std::set<std::string> metrics;  ///< that every finished trial was tested on
};

/// The claims that are on differences, as mean_kind() asks for them.
std::vector<ClaimConfig> claims_on_differences(const Value& config) {
  std::vector<ClaimConfig> claims;
  const Entry* list = config.find("claim");
  for (const Value& claim : list ? list->value.list : std::vector<Value>{}) {
    const Entry* on_logs = claim.find("log_error");
    if (!on_logs || on_logs->value.kind != Value::Kind::boolean || on_logs->value.boolean) continue;
    ClaimConfig& found = claims.emplace_back();
    found.metric = text_at(claim, "metric");
    found.log_error = false;
  }
  return claims;
}

/// [report] as far as this program knows the study's keys; else what the figure measures.
ReportConfig report_of(const std::string& text, const StoredRun& run, const Value& config) {
  try {
    return stored_study(text, run.profile).head.report;
  } catch (const Error&) {
    ReportConfig report;
    report.x_key = report.x_label = text_at(config, "report.x.key");
    report.y_metric = report.y_label = text_at(config, "report.y.metric");
    return report;
  }
}

Loaded load(const StoredRun& run) {
  Loaded loaded;
  loaded.side.run = run;
  const RunStore store(run.store(), RunStore::Access::read);
  say_faults(store);
  auto facts = store.study();
  loaded.side.title = facts["title"];
  const Value config = parse_toml(facts["config"], run.name(), false);
  loaded.side.x_key = text_at(config, "report.x.key");
  StudyResults& results = loaded.results;
  results.id = run.study;
  results.profile = run.profile;
  results.report = report_of(facts["config"], run, config);
  results.claims = claims_on_differences(config);
  std::unordered_map<std::string, std::vector<PlanEntry>> places;
  for (PlanEntry& entry : store.plan()) {
    const bool is_new = std::find(results.series.begin(), results.series.end(), entry.series) == results.series.end();
    if (is_new) results.series.push_back(entry.series);
    places[entry.id].push_back(std::move(entry));
  }
  if (results.series == std::vector<std::string>{""}) results.series.clear();
  loaded.side.planned = static_cast<int64_t>(places.size());
  store.each([&](TrialRecord&& trial) {
    const auto found = places.find(trial.id);
    if (found == places.end()) return;
    if (trial.status == TrialStatus::finished) {
      if (loaded.side.finished == 0)
        for (const auto& [name, value] : trial.test) loaded.metrics.insert(name);
      std::erase_if(loaded.metrics, [&](const std::string& name) { return !trial.test.contains(name); });
    }
    ++(trial.status == TrialStatus::finished ? loaded.side.finished : loaded.side.failed);
    for (const PlanEntry& place : found->second) results.trials.push_back(in_place(trial, place));
  });
  return loaded;
}

ComparedSide side_of(const Point& point, MeanKind kind) {
  const Centre middle = centre(point, kind);
  return {static_cast<int>(point.values.size()), middle.mean, middle.standard_error};
}

/// The interval of a change between seeds that are not the same in both (Welch); none where a side has one seed.
void add_unpaired(const Point& a, const Point& b, bool on_logs, ComparedMetric& metric) {
  double change = 0, variance = 0, noise = 0;  // noise: Σ (share of the variance)² / its degrees of freedom
  std::vector<std::pair<double, size_t>> sides;
  for (const auto& [sign, point] : {std::pair{1, &b}, {-1, &a}}) {
    std::vector<double> values;
    for (const auto& [seed, value] : point->values) values.push_back(on_logs ? std::log(value) : value);
    const double own = std::pow(standard_error(values), 2);
    change += sign * mean(values);
    variance += own;
    sides.emplace_back(own, values.size());
  }
  if (!(variance > 0) || !std::isfinite(change)) return;
  for (const auto& [own, seeds] : sides) noise += std::pow(own / variance, 2) / static_cast<double>(seeds - 1);
  const double reach = std::sqrt(variance) * t_reach(1 / noise, 0.05);
  metric.low = on_logs ? std::exp(change - reach) : change - reach;
  metric.high = on_logs ? std::exp(change + reach) : change + reach;
  metric.method = on_logs ? "Welch on logs" : "Welch";
}

/// `kind`: of both curves' means.
ComparedMetric compared(const Curve& curve, const Point& a, const Point& b, MeanKind kind) {
  const bool on_logs = kind == MeanKind::geometric;
  const Sample sample = combined_sample({{&b, 1}, {&a, -1}}, on_logs);
  ComparedMetric metric{.series = curve.series,
                        .metric = curve.metric,
                        .x = a.x,
                        .a = side_of(a, kind),
                        .b = side_of(b, kind),
                        .kind = kind,
                        .pairs = static_cast<int>(sample.seeds.size())};
  if (metric.pairs == 0) {
    metric.change = on_logs ? metric.b.mean / metric.a.mean : metric.b.mean - metric.a.mean;
    add_unpaired(a, b, on_logs, metric);
    return metric;
  }
  ConfidenceInterval change = interval_of("change", estimate(sample), 0.95);
  if (on_logs) change = exponential(change);
  metric.change = change.value;
  metric.low = change.low;
  metric.high = change.high;
  if (!std::isnan(metric.low)) metric.method = change.method;
  return metric;
}

using SeriesPairs = std::vector<std::pair<std::string, std::string>>;

/// The series to compare with each other: of the same name, or the only ones of two runs.
SeriesPairs series_pairs(const StudyResults& a, const StudyResults& b) {
  const auto of_a = series_names(a), of_b = series_names(b);
  if (of_a.size() == 1 && of_b.size() == 1) return {{of_a[0], of_b[0]}};
  SeriesPairs pairs;
  for (const std::string& name : of_a)
    if (std::find(of_b.begin(), of_b.end(), name) != of_b.end()) pairs.emplace_back(name, name);
  return pairs;
}

/// The metrics to compare: that asked for, those of the reports, or any that both have.
std::vector<std::string> metrics_of(const Loaded& a, const Loaded& b, const std::string& wanted) {
  std::vector<std::string> both;
  for (const std::string& name : a.metrics)
    if (b.metrics.count(name)) both.push_back(name);
  const auto has = [&](const std::string& name) { return std::find(both.begin(), both.end(), name) != both.end(); };
  if (!wanted.empty()) {
    require(has(wanted), "'{}' is not a metric of both runs; they share {}", wanted,
            both.empty() ? "none" : fmt::format("{}", fmt::join(both, ", ")));
    return {wanted};
  }
  std::vector<std::string> metrics;
  for (const std::string& name : {a.results.report.y_metric, b.results.report.y_metric})
    if (has(name) && std::find(metrics.begin(), metrics.end(), name) == metrics.end()) metrics.push_back(name);
  return metrics.empty() ? both : metrics;
}

/// The results with the choices made by a metric of theirs: the report's, else the one that is compared.
StudyResults judged_by(const Loaded& loaded, const std::string& metric) {
  StudyResults results = loaded.results;
  if (!loaded.metrics.count(results.report.y_metric)) results.report.y_metric = metric;
  return results;
}

/// All runs as one study, whose series are the first one's, each followed by those that are compared with it.
StudyResults overlaid(const std::vector<StudyResults>& runs, const std::vector<SeriesPairs>& pairs) {
  StudyResults all;
  all.title = "The runs compared";
  all.report = runs[0].report;
  all.report.lines.clear();
  all.claims = runs[0].claims;
  const std::vector<std::string> names = series_names(runs[0]);
  const auto add = [&](size_t run, const std::string& series) {
    const std::string side = side_name(run), name = names.size() == 1 ? side : fmt::format("{}, {}", side, series);
    all.series.push_back(name);
    for (const TrialRecord& trial : runs[run].trials)
      if (trial.series == series) all.trials.emplace_back(trial).series = name;
  };
  for (const std::string& name : names) {
    bool has_other = false;
    for (size_t run = 1; run < runs.size(); ++run)
      for (const auto& [own, other] : pairs[run - 1]) {
        if (own != name) continue;
        if (!std::exchange(has_other, true)) add(0, name);
        add(run, other);
      }
  }
  return all;
}

using Settings = std::map<std::string, std::set<std::string>>;  ///< key → the values that trials have, as text

Settings settings_of(const std::vector<TrialRecord>& trials) {
  Settings settings;
  for (const TrialRecord& trial : trials) {
    for (const auto& [path, value] : trial_facts(trial.config).settings) settings[path].insert(value);
    settings["(program)"].insert(trial.code);
    for (const auto& [file, hash] : trial.data) settings["(data) " + file].insert(hash.substr(0, 12));
  }
  return settings;
}

/// "1, 2, 4": numbers by size, the middle of long lists left out.
std::string values_text(const std::set<std::string>& values) {
  constexpr size_t most = 8;
  std::vector<std::string> list(values.begin(), values.end());
  const auto as_number = [](const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    return json.is_number() ? json.get<double>() : 0;
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const std::string& x, const std::string& y) { return as_number(x) < as_number(y); });
  if (list.size() <= most) return fmt::format("{}", fmt::join(list, ", "));
  return fmt::format("{}, …, {} ({} values)", fmt::join(list.begin(), list.begin() + 3, ", "), list.back(),
                     list.size());
}

/// The keys of the trials' configs, then the versions of the program and the data files, in the order of the alphabet:
/// whether their values differ in two runs decides where they go. What a sweep varies alike in both is no difference.
void add_settings(const std::vector<TrialRecord>& a, const std::vector<TrialRecord>& b, Comparison& comparison) {
  Settings of_a = settings_of(a), of_b = settings_of(b);
  std::set<std::string> keys;
  for (const Settings* settings : {&of_a, &of_b})
    for (const auto& [key, values] : *settings) keys.insert(key);
  for (const bool is_in_brackets : {false, true})  // those are not of the config
    for (const std::string& key : keys)
      if (key.starts_with("(") == is_in_brackets)
        (of_a[key] == of_b[key] ? comparison.same : comparison.settings)
            .push_back({key, values_text(of_a[key]), values_text(of_b[key])});
}

/// The metric of all runs over the x of the first.
std::optional<Figure> overlay(const std::vector<Loaded>& runs, const std::string& metric) {
  std::vector<StudyResults> results;
  std::vector<SeriesPairs> pairs;
  for (const Loaded& run : runs) {
    results.push_back(judged_by(run, metric));
    if (&run != &runs[0])
      pairs.push_back(run.metrics.contains(metric) && run.side.x_key == runs[0].side.x_key
                          ? series_pairs(results[0], results.back())
                          : SeriesPairs{});
  }
  const Analysis all = analyse(overlaid(results, pairs));
  if (all.trials.empty()) return std::nullopt;
  const bool is_its_own = metric == all.report.y_metric;
  const Measure measure{metric, is_its_own ? all.report.y_label : metric,
                        is_its_own ? all.report.y_scale : Scale::linear};
  return comparison_figure(all, {measure, {}}, series_groups(all)[0]);
}

Comparison compared(const Loaded& a, const Loaded& b, const std::string& wanted) {
  Comparison comparison;
  comparison.a = a.side;
  comparison.b = b.side;
  add_settings(a.results.trials, b.results.trials, comparison);
  for (const Loaded* run : {&a, &b})
    if (run->side.finished == 0)
      comparison.remarks.push_back(fmt::format("{} has no finished trial yet", run->side.run.name()));
  if (!comparison.remarks.empty()) return comparison;
  const auto pairs = series_pairs(a.results, b.results);
  const auto metrics = metrics_of(a, b, wanted);
  if (metrics.empty()) comparison.remarks.emplace_back("they were not tested on any common metric");
  if (pairs.empty()) comparison.remarks.emplace_back("they have no series of the same name");
  if (a.side.x_key != b.side.x_key)
    comparison.remarks.push_back(
        fmt::format("the x of their figures is not the same key: {} and {}", a.side.x_key, b.side.x_key));
  int alone = 0;
  for (const std::string& metric : metrics) {
    const Analysis of_a = analyse(judged_by(a, metric)), of_b = analyse(judged_by(b, metric));
    for (const auto& [name_a, name_b] : pairs) {
      const Curve &curve_a = of_a.curve(name_a, metric), &curve_b = of_b.curve(name_b, metric);
      const bool is_geometric = curve_a.kind == MeanKind::geometric && curve_b.kind == MeanKind::geometric;
      const MeanKind kind = is_geometric ? MeanKind::geometric : MeanKind::arithmetic;
      for (const Point& point : curve_a.points) {
        const Point* other = curve_b.at(point.x);
        if (other == nullptr || point.values.empty() || other->values.empty()) ++alone;
        else comparison.metrics.push_back(compared(curve_a, point, *other, kind));
      }
    }
  }
  if (alone > 0)
    comparison.remarks.push_back(fmt::format("{} of A {} no finished trial in {} at the same x",
                                             counted(alone, "place"), alone == 1 ? "has" : "have", b.side.name));
  return comparison;
}

}  // namespace

std::vector<Comparison> compare_runs(const std::vector<StoredRun>& runs, const std::string& wanted) {
  std::vector<Loaded> loaded;
  for (const StoredRun& run : runs) {
    loaded.push_back(load(run));
    loaded.back().side.name = side_name(loaded.size() - 1);
  }
  std::vector<Comparison> comparisons;
  for (size_t i = 1; i < loaded.size(); ++i) comparisons.push_back(compared(loaded[0], loaded[i], wanted));
  for (Comparison& comparison : comparisons)
    if (!comparisons[0].figure && !comparison.metrics.empty())
      comparisons[0].figure = overlay(loaded, comparison.metrics[0].metric);
  return comparisons;
}

}  // namespace headroom::experiments
