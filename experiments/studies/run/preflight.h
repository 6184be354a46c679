#pragma once
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/studies/config/study.h"
#include "experiments/studies/run/memory_limit.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/work_pool.h"
#include "models/config.h"
#include "tasks/make_task.h"
#include "tasks/theory/model_costs.h"

namespace headroom::experiments {

/// The model's costs for so many sequences, in the precision of its training. Throws Error as tasks::model_costs().
tasks::ModelCosts costs_of_batch(const TrialConfig& config, const tasks::Task& task, int64_t sequences);

/// Minimum number of bytes that one trial holds.
struct MemoryNeed {
  double state = 0;        ///< weights, gradients, moments, and the best weights where they are kept
  double activations = 0;  ///< kept by one part of a batch for backward
  double sets = 0;         ///< the validation and the test set
  double total() const { return state + activations + sets; }
};

/// The memory that one trial needs; 0 for a formula.
MemoryNeed memory_need(const TrialConfig& config, const tasks::Work& work);
/// The part needed on the host, or on the trial's device: the sets stay on the host.
MemoryNeed need_on(engine::Device::Kind where, const MemoryNeed& need, engine::Device device);

/// Trials that cannot be run here, as their trained model is not on this machine, where others of the study can.
struct LeftOut {
  std::set<std::string> trials;    ///< ids
  std::vector<std::string> notes;  ///< a line for each model: the number of trials, and the places searched
};

/// Empty if no trial's model is here: check_before_training() throws an error for that.
LeftOut without_model(const std::vector<const PlannedTrial*>& trials, WorkPool& pool);

/// What is known of a sweep before its first step. Throws ConfigError with a line for each reason for which trials
/// would fail: an unknown HEADROOM_ISA, a device that is not there, bf16 that would be emulated, a data file or a
/// trained head that is not there, a text shorter than the context, a model that does not fit its task, a pattern of
/// parameters that matches none. Throws Error with the need, the limit and what would fit, where one trial needs more
/// memory than there is, on the host or free on its device, or `wanted` at once that were asked for. Returns how many
/// of the trials, which start in their order, may run at once: `wanted`, or fewer where that is the program's own
/// choice and memory is short.
int check_before_training(const std::vector<const PlannedTrial*>& trials, WorkPool& pool, int wanted, bool is_asked_for,
                          const MemoryLimit& limit);

/// Trials are known by their config, which names files but not their bytes. Throws Error, with the file and both
/// hashes, when a finished trial of the study was trained on a file of the same name with other bytes than the present
/// one: its numbers and those of trials still to come would be means over two data sets. What is not found any more is
/// no contradiction.
void check_same_data(const Study& study, const std::unordered_map<std::string, RunStore::Known>& known, WorkPool& pool);

}  // namespace headroom::experiments
