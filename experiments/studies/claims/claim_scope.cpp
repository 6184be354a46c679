#include "experiments/studies/claims/claim_scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/excerpt.h"
#include "experiments/output/number.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

/// "1, 2, 4", the first of them where there are many.
std::string list_text(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double x : values) texts.push_back(exact(x));
  return excerpt(fmt::format("{}", fmt::join(texts, ", ")));
}

}  // namespace

ClaimScope::ClaimScope(const StudyScope& study, const std::string& series, const std::string& metric,
                       std::optional<double> from, std::optional<double> to)
    : study_(study),
      series_(series.empty() && study.series.size() == 1 ? study.series[0] : series),
      metric_(metric.empty() ? study.y_metric : metric),
      from_(from),
      to_(to) {}

const SeriesScope& ClaimScope::of(const std::string& series) const {
  static const SeriesScope unknown;
  const auto known = study_.known.find(series.empty() ? series_ : series);
  return known == study_.known.end() ? unknown : known->second;
}

std::vector<double> ClaimScope::x(const std::string& series) const {
  std::vector<double> inside;
  for (const double x : of(series).x)
    if (!(from_ && x < *from_) && !(to_ && x > *to_)) inside.push_back(x);
  return inside;
}

std::string ClaimScope::range_text() const {
  if (!from_ && !to_) return "";
  return fmt::format(" from {} to {}", from_ ? exact(*from_) : "the first", to_ ? exact(*to_) : "the last");
}

void ClaimScope::check_metric(Reader& in, const std::string& key, const std::string& metric,
                              const std::string& series) const {
  const std::set<std::string>& known = of(series).metrics;
  if (metric.empty() || known.empty() || known.contains(metric)) return;
  const std::string near = nearest_path(metric, known);
  in.complain(key, fmt::format("no trial has a metric \"{}\"{}", excerpt(metric),
                               near.empty() ? fmt::format("; they have {}", fmt::join(known, ", "))
                                            : fmt::format("; did you mean \"{}\"?", near)));
}

void ClaimScope::check_x(Reader& in, const std::string& key, double x, const std::string& series) const {
  if (of(series).x.empty()) return;
  const std::vector<double> inside = this->x(series);
  if (std::find(inside.begin(), inside.end(), x) != inside.end()) return;
  in.complain(key, fmt::format("{} = {} is no point of the sweep{}, which has {}", study_.x_name, exact(x),
                               range_text(), inside.empty() ? "none" : list_text(inside)));
}

bool ClaimScope::has_series(const std::string& series) const {
  return std::find(study_.series.begin(), study_.series.end(), series) != study_.series.end();
}

void ClaimScope::check_series(Reader& in, const std::string& key, const std::string& series) const {
  const std::vector<std::string>& names = study_.series;
  // A curve of a sweep has the sweep's key in its name: where that is mistyped, it is said there.
  const bool is_curve = series.find('=') != std::string::npos;
  if (has_series(series) || (is_curve && !is_known())) return;
  const bool has_any = names != std::vector<std::string>{""};
  const std::string near = nearest_path(series, {names.begin(), names.end()});
  in.complain(key,
              fmt::format("there is no series \"{}\"; {}", excerpt(series),
                          !has_any       ? "the study has one without a name"
                          : near.empty() ? "the study has " + excerpt(fmt::format("{}", fmt::join(names, ", ")), 300)
                                         : fmt::format("did you mean \"{}\"?", excerpt(near))));
}

void ClaimScope::check_count(Reader& in, size_t least, const std::string& what) const {
  if (of().x.empty()) return;
  const size_t count = x().size();
  if (count < least)
    in.complain("kind", fmt::format("{} needs {} values of {}, the sweep has {}{}", what, least, study_.x_name, count,
                                    range_text()));
}

}  // namespace headroom::experiments
