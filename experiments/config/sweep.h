#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/config/problems.h"
#include "experiments/config/trial_config.h"
#include "experiments/config/value.h"

namespace headroom::experiments {

/// One swept key and its values, in the order of the file.
struct SweepAxis {
  std::string path;  ///< "model.heads"
  Place place;
  std::vector<Value> values;
  bool best_of = false;  ///< a choice to be made on validation, not a point of the curve
};

/// [sweep]: `"model.heads" = [1, 2, 4]`, `"train.optimizer.lr" = { best_of = [1e-3, 1e-2] }`, `seed = [0, 1]`.
struct Sweep {
  std::vector<SweepAxis> axes;
  std::vector<int64_t> seeds{0};
};
Sweep read_sweep(const Value& root, Problems& problems);

/// One trial of the plan.
struct PlannedTrial {
  std::string id, series;
  double x = 0;
  std::map<std::string, double> choice;
  int64_t seed = 0;
  TrialConfig config;
  /// "heads=64 lr=0.003 seed=1".
  std::string label;
};

/// Every combination of a sweep's values and seeds, seeds innermost, bound to the configs that they give. Every axis
/// must be `x_key` or a `best_of`, and x_key must be swept: what else is wrong goes into `problems`, too.
std::vector<PlannedTrial> expand(const Value& root, const Sweep& sweep, const std::string& x_key,
                                 const std::string& series, Problems& problems);

}  // namespace headroom::experiments
