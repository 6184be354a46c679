#include <fmt/format.h>

#include <cmath>
#include <set>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/config/trial_facts.h"
#include "experiments/studies/toml/expression.h"

namespace headroom::experiments {
namespace {

constexpr double law_level = 0.9;

/// The value that all trials of a series have at a dotted path; NaN where they differ or have none.
double common_key(const Analysis& study, const std::string& series, const std::string& path) {
  std::set<double> values;
  for (const TrialRecord& t : study.trials) {
    if (t.series != series) continue;
    const auto& numbers = study.facts(t).numbers;
    const auto found = numbers.find(path);
    if (found == numbers.end()) return NAN;
    values.insert(found->second);
  }
  return values.size() == 1 ? *values.begin() : NAN;
}

double beside_of(const LawConfig& config, const std::vector<double>& keys) {
  if (config.beside.empty()) return NAN;
  try {
    return evaluate(config.beside, [&](const std::string& name) {
      for (size_t k = 0; k < keys.size(); ++k)
        if (config.of[k] == name || last_part(config.of[k]) == name) return keys[k];
      fail("{} is none of the law's keys", name);
    });
  } catch (const Error&) {  // not finite for this series
    return NAN;
  }
}

/// Why a series cannot be in the fit; "" where it can.
std::string reason_against(const FittedLaw::Row& row, const std::vector<std::string>& paths,
                           const std::optional<Optimum>& optimum) {
  for (size_t k = 0; k < paths.size(); ++k)
    if (!(row.keys[k] > 0)) return fmt::format("its trials have no common {}", paths[k]);
  if (!optimum) return "it lacks two seeds at three x";
  return optimum->is_at_end ? "its best stands at an end of the sweep" : "";
}

/// Keys without two values over the rows are in no fit.
void drop_constant_keys(FittedLaw& law) {
  for (size_t k = law.names.size(); k-- > 0;) {
    std::set<double> values;
    for (const FittedLaw::Row& row : law.rows) values.insert(row.keys[k]);
    if (values.size() > 1) continue;
    law.notes.push_back(fmt::format("{} does not vary", law.names[k]));
    law.names.erase(law.names.begin() + static_cast<int64_t>(k));
    for (FittedLaw::Row& row : law.rows) row.keys.erase(row.keys.begin() + static_cast<int64_t>(k));
  }
}

void fit(FittedLaw& law) {
  std::vector<std::vector<double>> keys;
  std::vector<double> best, variances, beside;
  for (const FittedLaw::Row& row : law.rows) {
    keys.emplace_back();
    for (const double key : row.keys) keys.back().push_back(std::log(key));
    best.push_back(row.optimum.log_x);
    variances.push_back(row.optimum.variance);
    beside.push_back(std::log(row.beside));
  }
  law.law = law.names.empty() ? std::nullopt : fit_power_law(keys, best, variances, law_level);
  std::vector<double> compared, left_out, expression;  // both are judged by the same series
  for (size_t i = 0; i < best.size(); ++i) {
    if (law.law && std::isnan(law.law->left_out[i])) continue;
    compared.push_back(best[i]);
    expression.push_back(beside[i]);
    if (law.law) left_out.push_back(law.law->left_out[i]);
  }
  std::vector<double> scaled;
  for (size_t i = 0; i < compared.size(); ++i) {
    double others = 0;
    for (size_t j = 0; j < compared.size(); ++j) others += j == i ? 0 : compared[j] - expression[j];
    scaled.push_back(expression[i] + others / static_cast<double>(compared.size() - 1));
  }
  law.scaled_factor = compared.size() < 2 ? NAN : typical_factor(compared, scaled);
  law.compared = compared.size();
  law.law_factor = left_out.empty() ? NAN : typical_factor(compared, left_out);
  law.beside_factor = compared.empty() ? NAN : typical_factor(compared, expression);
}

}  // namespace

std::optional<FittedLaw> Analysis::fit_law() const {
  if (!report.law) return std::nullopt;
  const LawConfig& config = *report.law;
  FittedLaw law;
  law.x_name = last_part(report.x_key);
  law.beside = config.beside;
  for (const std::string& path : config.of) law.names.push_back(last_part(path));
  for (const std::string& series : series_names(*this)) {
    FittedLaw::Row row{series, {}, {}, NAN};
    for (const std::string& path : config.of) row.keys.push_back(common_key(*this, series, path));
    const std::optional<Optimum> best = optimum(curve(series));
    if (const std::string reason = reason_against(row, config.of, best); !reason.empty()) {
      law.notes.push_back(fmt::format("{} is left out: {}", series.empty() ? "the curve" : series, reason));
      continue;
    }
    row.optimum = *best;
    row.beside = beside_of(config, row.keys);
    law.rows.push_back(std::move(row));
  }
  drop_constant_keys(law);
  fit(law);
  return law;
}

}  // namespace headroom::experiments
