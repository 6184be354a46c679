#pragma once
#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/analysis/analysis.h"
#include "tests/experiments/support.h"

namespace headroom::experiments {

// What one test asks of some results, each by an analysis of its own.
inline std::vector<Verdict> judge(const StudyResults& results) { return analyse(results).verdicts(); }
inline Curve curve(const StudyResults& results, const std::string& series, const std::string& metric = "") {
  return analyse(results).curve(series, metric);
}
inline std::vector<Analysis> analysed(const std::vector<StudyResults>& studies) {
  std::vector<Analysis> all;
  for (const StudyResults& one : studies) all.push_back(analyse(one));
  return in_order(std::move(all));
}

}  // namespace headroom::experiments

namespace headroom::experiments::testing {

using namespace headroom::testing;

/// A finished trial at heads = x whose validation and test metrics are alike.
inline TrialRecord trial(double x, int64_t seed, double error) {
  TrialRecord t;
  t.x = x;
  t.seed = seed;
  t.id = fmt::format("x{}-s{}", x, seed);
  t.validation = {{"mse", error}};
  t.test = {{"mse", error}};
  return t;
}

/// The trial as it would stand after its loss left the numbers.
inline TrialRecord failed(TrialRecord t) {
  t.status = TrialStatus::failed;
  t.message = "loss is not finite at step 12 (last finite 0.5, gradient norm 4e7)";
  t.validation.clear();
  t.test.clear();
  return t;
}

/// The trial as one of a series, with an id of its own.
inline TrialRecord in_series(TrialRecord t, const std::string& name) {
  t.series = name;
  t.id += name;
  return t;
}

/// A study of "mse" against "model.heads". errors[i][s] is the error of seed s at heads = xs[i].
inline StudyResults study(const std::vector<double>& xs, const std::vector<std::vector<double>>& errors) {
  StudyResults r;
  r.id = "synthetic";
  r.title = "A synthetic curve";
  r.profile = "quick";
  r.report.x_key = "model.heads";
  r.report.x_label = "heads";
  r.report.y_metric = "mse";
  r.report.y_label = "MSE";
  for (size_t i = 0; i < xs.size(); ++i)
    for (size_t s = 0; s < errors[i].size(); ++s)
      r.trials.push_back(trial(xs[i], static_cast<int64_t>(s), errors[i][s]));
  r.planned = std::ssize(r.trials);
  return r;
}

inline ClaimConfig claim(const std::string& kind, ClaimKeys keys = {}) {
  ClaimConfig c;
  c.kind = &claim_kind(kind);
  c.keys = std::move(keys);
  c.paper = "as the paper says";
  return c;
}

/// A U with three seeds: heads 4 is best, the ends are about 101 and 20 times worse.
inline StudyResults u_curve() {
  return study({1, 2, 4, 8, 16},
               {{1.0, 1.2, 0.9}, {0.1, 0.12, 0.09}, {0.010, 0.011, 0.0095}, {0.03, 0.028, 0.032}, {0.2, 0.21, 0.19}});
}

}  // namespace headroom::experiments::testing
