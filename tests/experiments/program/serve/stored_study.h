#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "experiments/studies/run/store.h"
#include "tests/support/folder.h"

namespace headroom::testing {

inline const char* const stored_config = R"([study]
id = "small"
[report]
x = { key = "model.heads", scale = "log2" }
y = { metric = "mse", scale = "log10" }
)";

/// A finished trial of `heads` heads and a seed, whose error is `mse`.
inline experiments::TrialRecord stored_trial(int heads, int64_t seed, double mse, int steps = 40) {
  experiments::TrialRecord trial;
  trial.id = fmt::format("id{}-{}-{}", heads, seed, steps);
  trial.validation = {{"mse", mse}};
  trial.test = {{"mse", mse}, {"other", 2 * mse}};
  trial.steps = steps;
  trial.seconds = 10;
  trial.config = fmt::format(R"({{"model":{{"heads":{}}},"train":{{"steps":{}}},"seed":{}}})", heads, steps, seed);
  trial.code = "0.1";
  trial.history = {{10, "train", "loss", mse * 4}, {20, "train", "loss", mse * 2}, {20, "validation", "mse", mse}};
  return trial;
}

inline experiments::PlanEntry stored_place(int heads, int64_t seed, int steps = 40) {
  return {fmt::format("id{}-{}-{}", heads, seed, steps),
          "",
          fmt::format("heads={} seed={}", heads, seed),
          static_cast<double>(heads),
          {},
          seed};
}

/// The store of a run OUT/STUDY/PROFILE with a plan of heads × seeds; none of its trials has ended.
inline experiments::RunStore& planned(experiments::RunStore& store, const std::string& title,
                                      const std::vector<int>& heads, const std::vector<int64_t>& seeds,
                                      int steps = 40) {
  std::vector<experiments::PlanEntry> plan;
  for (const int h : heads)
    for (const int64_t seed : seeds) plan.push_back(stored_place(h, seed, steps));
  store.set_plan({{"id", "small"}, {"title", title}, {"profile", "quick"}, {"config", stored_config}, {"round", "1"}},
                 plan);
  return store;
}

}  // namespace headroom::testing
