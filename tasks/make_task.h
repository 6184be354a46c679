#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>

#include "tasks/classification.h"
#include "tasks/compression/lowrank_measurement.h"
#include "tasks/data/roots.h"
#include "tasks/distillation/head_distillation.h"
#include "tasks/distillation/two_stage.h"
#include "tasks/induction_head.h"
#include "tasks/language/instructions.h"
#include "tasks/language/masked.h"
#include "tasks/language/next_token.h"
#include "tasks/linear_functional.h"
#include "tasks/measure/attention_heads.h"
#include "tasks/measure/head_measurements.h"
#include "tasks/measure/spectra_measurement.h"
#include "tasks/task.h"
#include "tasks/theory/allocation_bound.h"
#include "tasks/theory/constructive/constructive_task.h"
#include "tasks/theory/exponential_sum_measurement.h"
#include "tasks/theory/random_projection_measurement.h"
#include "tasks/theory/representability.h"
#include "tasks/volterra.h"

namespace headroom::tasks {

/// Settings of any one task, each with the class that they make (Made: a Task, or a Measurement) and, in its header,
/// the names of its metrics (metric_names_of). A new kind is its files, and its place here.
using TaskConfig = std::variant<LinearFunctionalConfig, ClassificationConfig, InductionHeadConfig, VolterraConfig,
                                AllocationBoundConfig, ConstructiveConfig, RepresentabilityConfig, ExponentialSumConfig,
                                RandomProjectionConfig, SoftmaxBoundConfig, SvdBoundConfig, RopeBoundConfig,
                                NextTokenConfig, MaskedConfig, InstructionsConfig, AttentionHeadsConfig, SpectraConfig,
                                HeadDistillationConfig, TwoStageConfig, LowRankConfig>;

/// False for a formula: there is no model and no training.
bool trains(const TaskConfig& config);

/// Whether it reads texts or a trained model from disk.
bool reads_data(const TaskConfig& config);

/// Whether a device other than the CPU does some of its work: what trains does, and formulas on trained models that
/// train or measure the whole of them.
bool takes_device(const TaskConfig& config);

/// Names of all test metrics that a trial of this task may have: what its Task's meter and probes, or its Measurement,
/// can give. Some come only with some models ("attention_at_lag_1" needs a causal one) or results. Reads no data.
std::set<std::string> metric_names(const TaskConfig& config);

/// What a trial works on: a task, which a model is trained for, or a formula, which is computed.
using Work = std::variant<std::shared_ptr<const Task>, std::shared_ptr<const Measurement>>;

/// Throws Error when the config is invalid, or when data is missing (it then names the file and how to get it).
Work make_work(const TaskConfig& config, const DataRoots& roots);
/// The same where it trains. Throws Error for a formula.
std::shared_ptr<const Task> make_task(const TaskConfig& config, const DataRoots& roots);

/// File → SHA-256 of everything that was read from disk.
std::map<std::string, std::string> data_hashes(const Work& work);

}  // namespace headroom::tasks
