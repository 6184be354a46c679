#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>

#include "tasks/classification.h"
#include "tasks/compression/lowrank_measurement.h"
#include "tasks/data/locate.h"
#include "tasks/distillation/head_distillation.h"
#include "tasks/distillation/two_stage.h"
#include "tasks/induction_head.h"
#include "tasks/language/corpus_tasks.h"
#include "tasks/language/instructions.h"
#include "tasks/linear_functional.h"
#include "tasks/measure/attention_heads.h"
#include "tasks/measure/head_measurements.h"
#include "tasks/measure/spectra_measurement.h"
#include "tasks/retrieval.h"
#include "tasks/task.h"
#include "tasks/theory/allocation_bound.h"
#include "tasks/theory/constructive/constructive_task.h"
#include "tasks/theory/exponential_sum_measurement.h"
#include "tasks/theory/random_projection.h"
#include "tasks/theory/representability.h"
#include "tasks/volterra.h"

namespace headroom::tasks {

/// The settings of any task, each with the class it makes (Made: a Task or a Measurement) and, in its header, its
/// metric names (metric_names_of). To add a kind, add its files and an entry here.
using TaskConfig =
    std::variant<LinearFunctionalConfig, ClassificationConfig, InductionHeadConfig, VolterraConfig, RetrievalConfig,
                 AllocationBoundConfig, ConstructiveConfig, RepresentabilityConfig, ExponentialSumConfig,
                 RandomProjectionConfig, SoftmaxBoundConfig, SvdBoundConfig, RopeBoundConfig, NextTokenConfig,
                 MaskedConfig, InstructionsConfig, AttentionHeadsConfig, SpectraConfig, HeadDistillationConfig,
                 TwoStageConfig, LowRankConfig>;

/// False for a formula, which has no model and no training.
bool trains(const TaskConfig& config);

/// True if it is tested on the validation set, having no other items.
bool is_tested_on_validation(const TaskConfig& config);

/// True if it reads texts or a trained model from disk.
bool reads_data(const TaskConfig& config);

/// True if another device than the CPU does some of its work: training, and formulas that train or measure whole
/// trained models.
bool takes_device(const TaskConfig& config);

/// All test metrics that a trial of this task may have, from its Task's meter and probes or its Measurement. Some come
/// only with some models ("attention_at_lag_1" needs a causal one) or results. Reads no data.
std::set<std::string> metric_names(const TaskConfig& config);

/// A trial's work: a task to train a model for, or a formula to compute.
using Work = std::variant<std::shared_ptr<const Task>, std::shared_ptr<const Measurement>>;

/// Throws Error if the config is invalid or data is missing (it then names the file and how to get it).
Work make_work(const TaskConfig& config, const DataRoots& roots);
/// The same for a task that trains. Throws Error for a formula.
std::shared_ptr<const Task> make_task(const TaskConfig& config, const DataRoots& roots);

/// File → SHA-256 of everything read from disk.
std::map<std::string, std::string> data_hashes(const Work& work);

}  // namespace headroom::tasks
