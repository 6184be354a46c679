#include "experiments/studies/pages/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"

namespace headroom::experiments {
namespace {

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

std::string law_sentence(const FittedLaw& law) {
  const std::string series = fmt::format("{} series", law.rows.size());
  const std::string other =
      law.beside.empty() ? ""
                         : fmt::format("{} is off by a factor of {}, or of {} with one fitted constant", law.beside,
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
      "Best {} = {}, off by a factor of {} on series left out of the fit ({}){}. It is untested beyond the "
      "range of the fit: {}.",
      law.x_name, formula, factor_text(law.law_factor), judged, other.empty() ? "" : "; " + other,
      fmt::join(ranges, ", "));
}

Blocks law_section(const Analysis& r) {
  const std::optional<FittedLaw>& law = r.law();
  if (!law) return {};
  Blocks parts{paragraph(law_sentence(*law)), cells_table("The law", law_cells(*law), {0})};
  for (const std::string& note : law->notes) parts.push_back(item(note, Role::notes));
  return {section("The law", std::move(parts), "law")};
}

}  // namespace headroom::experiments
