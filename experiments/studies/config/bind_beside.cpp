#include <fmt/format.h>

#include <algorithm>

#include "engine/excerpt.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/claims/reference.h"
#include "experiments/studies/config/bind.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

/// The paper has a column or a number there, and the series measures a number of it.
void check_path(Reader& in, const BesidePaper& b, const ClaimScope& scope) {
  const auto column = paper_points(b.path);
  const std::vector<double> x = scope.x();
  const auto is_measured = [&](const auto& point) { return std::find(x.begin(), x.end(), point.first) != x.end(); };
  if (column.empty() && !paper_number(b.path))
    in.complain("path", fmt::format("the paper's tables have no number at {}",
                                    excerpt(fmt::format("{}", fmt::join(b.path, " / ")))));
  else if (column.empty() && !b.at && x.size() > 1)
    in.complain(
        "at", fmt::format("missing: the path is one number, the series has {} values of {}", x.size(), scope.x_name()));
  else if (!column.empty() && !x.empty() && std::none_of(column.begin(), column.end(), is_measured))
    in.complain("path", fmt::format("the paper has no number at any {} of the series", scope.x_name()));
}

}  // namespace

BesidePaper bind_beside(Reader& in, const StudyScope& study) {
  BesidePaper b;
  b.series = in.text("series", {"", "the only one"}, "the series whose numbers they are");
  b.metric = in.text("metric", {"", "the report's y"}, "of the test data");
  b.path = in.texts("path", "path of the paper's column or number in its tables (data/paper_tables.json)");
  b.at = in.optional_real("at", {}, "x of the number; without it every x that the column has");
  const ClaimScope scope(study, b.series, b.metric, {}, {});
  if (!b.series.empty()) scope.check_series(in, "series", b.series);
  else if (study.series.size() > 1)
    in.complain("series", fmt::format("missing: the study has several series ({})",
                                      excerpt(fmt::format("{}", fmt::join(study.series, ", ")), 300)));
  scope.check_metric(in, "metric", b.metric);
  if (b.at) scope.check_x(in, "at", *b.at);
  check_path(in, b, scope);
  return b;
}

}  // namespace headroom::experiments
