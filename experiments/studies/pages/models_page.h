#pragma once
#include <map>
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

/// One statement of a study about trained models, and what the verdicts on each of them say.
struct ModelClaim {
  const Analysis* study;
  std::string words, metric;
  std::map<std::string, std::vector<const Verdict*>> by_model;  ///< file or folder → its series' verdicts, in order

  /// Whether it passes and never fails on one model, and the other way round on another.
  bool is_split() const;
};

/// Claims in the same words on the same metric, judged on two trained models or more, in the order of the studies.
/// Models with random weights are left out.
std::vector<ModelClaim> claims_by_model(const std::vector<Analysis>& all);

/// How many there are, and on how many of them the models differ; "" for none.
std::string models_sentence(const std::vector<ModelClaim>& claims);

/// A table with a column per model.
Blocks models_page(const std::vector<Analysis>& all, const std::vector<ModelClaim>& claims);

}  // namespace headroom::experiments
