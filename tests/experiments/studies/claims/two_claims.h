#pragma once
#include "experiments/studies/analysis/verdict.h"
#include "tests/experiments/synthetic.h"

namespace headroom::experiments::testing {

/// Where the paper has the best number of heads of the 4-gram.
inline const PaperPath papers_optimum = {"ngram-tradeoff", "optimum", "heads"};

/// A study with two claims: one that fails, with a number of the paper, and one of our own that is not run.
inline StudyResults two_claims() {
  StudyResults r = u_curve();
  ClaimConfig argmin = claim("optimum_at", {.among = {8}}), within = claim("within_factor", {.at = 3});
  argmin.reference = papers_optimum;
  within.paper = "";
  within.ours = "<near> the best";
  r.claims = {argmin, within};
  return r;
}

}  // namespace headroom::experiments::testing
