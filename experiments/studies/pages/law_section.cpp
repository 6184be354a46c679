#include "experiments/studies/pages/law_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/toml/expression.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

constexpr double law_level = 0.9;

/// The value that all trials of a series have at a dotted path; NaN where they differ or have none.
double common_key(const StudyResults& r, const std::string& series, std::string path) {
  std::replace(path.begin(), path.end(), '.', '/');
  const Json::json_pointer pointer("/" + path);
  std::set<double> values;
  for (const TrialRecord& t : r.trials) {
    if (t.series != series) continue;
    const Json config = Json::parse(t.config, nullptr, false);
    if (!config.contains(pointer) || !config.at(pointer).is_number()) return NAN;
    values.insert(config.at(pointer).get<double>());
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

/// "1.21", or why there is none.
std::string factor_text(double factor) { return std::isfinite(factor) ? rounded(factor) : "?"; }

/// A row for each series, below the heads of its cells.
std::vector<std::vector<std::string>> law_cells(const FittedLaw& law) {
  std::vector<std::vector<std::string>> cells{{"series"}};
  const auto add = [&](const std::string& text) { cells.back().push_back(text); };
  for (const std::string& name : law.names) add(name);
  add("best " + law.x_name);
  add("90 % interval");
  if (law.law) add("law without it");
  if (!law.beside.empty()) add(law.beside);
  for (size_t i = 0; i < law.rows.size(); ++i) {
    const FittedLaw::Row& row = law.rows[i];
    const Optimum& best = row.optimum;
    cells.push_back({row.series});
    for (const double key : row.keys) add(exact(key));
    add(rounded(std::exp(best.log_x)));
    add(std::isnan(best.low) ? "—" : fmt::format("{} to {}", rounded(best.low), rounded(best.high)));
    if (law.law) add(rounded(std::exp(law.law->left_out[i])));
    if (!law.beside.empty()) add(rounded(row.beside));
  }
  return cells;
}

}  // namespace

std::optional<FittedLaw> fitted_law(const Analysis& r) {
  if (!r.report.law) return std::nullopt;
  const LawConfig& config = *r.report.law;
  FittedLaw law;
  law.x_name = last_part(r.report.x_key);
  law.beside = config.beside;
  for (const std::string& path : config.of) law.names.push_back(last_part(path));
  for (const std::string& series : series_names(r)) {
    FittedLaw::Row row{series, {}, {}, NAN};
    for (const std::string& path : config.of) row.keys.push_back(common_key(r, series, path));
    const std::optional<Optimum> best = optimum(r.curve(series));
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

std::string law_sentence(const FittedLaw& law) {
  const std::string series = fmt::format("{} series", law.rows.size());
  const std::string other =
      law.beside.empty() ? ""
                         : fmt::format("{} is off by a factor of {}, and by {} times one fitted constant", law.beside,
                                       factor_text(law.beside_factor), factor_text(law.scaled_factor));
  if (!law.law) {
    const std::string none = fmt::format("No law of the best {} can be fitted to {}", law.x_name, series);
    return other.empty() || law.rows.empty() ? none + "." : fmt::format("{}; {}.", none, other);
  }
  std::string formula = rounded(std::exp(law.law->intercept.value));
  for (size_t k = 0; k < law.names.size(); ++k) {
    const Exponent& e = law.law->exponents[k];
    formula += fmt::format(" · {}^{} [{}, {}]", law.names[k], rounded(e.value), rounded(e.low), rounded(e.high));
  }
  const std::string judged = law.compared == law.rows.size() ? series : fmt::format("{} of {}", law.compared, series);
  std::vector<std::string> ranges;
  for (size_t k = 0; k < law.names.size(); ++k) {
    const auto [least, most] = std::minmax_element(law.rows.begin(), law.rows.end(),
                                                   [k](const auto& a, const auto& b) { return a.keys[k] < b.keys[k]; });
    ranges.push_back(fmt::format("{} {} to {}", law.names[k], exact(least->keys[k]), exact(most->keys[k])));
  }
  return fmt::format(
      "Best {} = {}, off by a factor of {} for a series that it was not fitted to ({}){}. Nothing says that it holds "
      "beyond what it was fitted to: {}.",
      law.x_name, formula, factor_text(law.law_factor), judged, other.empty() ? "" : "; " + other,
      fmt::join(ranges, ", "));
}

Blocks law_section(const Analysis& r) {
  const auto law = fitted_law(r);
  if (!law) return {};
  Blocks parts{paragraph(law_sentence(*law)), cells_table("The law", law_cells(*law), {0})};
  for (const std::string& note : law->notes) parts.push_back(item(note, Role::notes));
  return {section("The law", std::move(parts), "law")};
}

}  // namespace headroom::experiments
