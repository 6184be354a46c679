#pragma once
#include <stdexcept>
#include <string>

#include "experiments/studies/words/verdict_words.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments::testing {

inline ClaimConfig interior(double factor = 1) { return claim("interior_optimum", {.factor = factor}); }
inline ClaimConfig argmin(std::vector<double> among) { return claim("optimum_at", {.among = std::move(among)}); }
inline ClaimConfig within(double at, double factor) { return claim("within_factor", {.at = at, .factor = factor}); }

/// The verdict on one claim about a study.
inline Verdict verdict(StudyResults results, const ClaimConfig& c) {
  results.claims = {c};
  return judge(results).at(0);
}

/// One of a verdict's numbers. Throws when there is none of that name.
inline double number(const Verdict& v, const std::string& key) {
  for (const auto& [name, value] : v.numbers)
    if (name == key) return value;
  throw std::logic_error("no number " + key);
}

/// Whether the verdict's sentence holds `text`; shows the sentence when a check fails.
inline bool says(const Verdict& v, const std::string& text) {
  UNSCOPED_INFO(sentence(v));
  return contains(sentence(v), text);
}

}  // namespace headroom::experiments::testing
