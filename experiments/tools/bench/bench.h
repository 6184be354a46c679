#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/device.h"
#include "engine/dtype.h"
#include "engine/profile.h"
#include "experiments/tools/bench/profile_table.h"
#include "models/config.h"

namespace headroom::experiments {

/// What is predicted, on random data: real vectors (mse), the next token (ce), 15 % of the tokens (mlm), or a class of
/// the sequence (classify).
enum class Objective { mse, ce, mlm, classify };

/// One training step to time: a model, and the shape of its batch.
struct Workload {
  std::string name;
  models::TransformerConfig model;
  Objective objective = Objective::ce;
  int64_t batch = 1, length = 1;
};

/// Reads one table of a file of workloads, over the file's [defaults]. Throws Error naming the file and what is wrong:
/// an unknown workload (and the known ones), an unknown key, a missing one, a wrong type or an unknown name.
Workload read_workload(const std::string& file, const std::string& name);

struct BenchOptions {
  engine::DType dtype = engine::DType::f32;
  engine::Precision precision = engine::Precision::f32;  ///< as in train.precision
  engine::Device device = engine::cpu;
  int threads = 0;            ///< 0: num_threads(); shared by the copies
  int copies = 1;             ///< trainings at once, each in a thread and on a stream of its own
  double seconds = 8;         ///< duration of timing; at least five steps are timed
  bool forward_only = false;  ///< the loss alone: no backward pass, no update
  bool eager = false;         ///< on a device: op by op, no step is recorded and replayed
  bool profiled = false;      ///< times each op of some further steps, which then run op by op
};

struct BenchResult {
  std::string workload;
  engine::DType dtype = engine::DType::f32;
  engine::Device device = engine::cpu;
  bool is_recorded = false;  ///< the steps were replayed: see tasks::Trainer
  int threads = 1;           ///< of a copy
  bool forward_only = false;
  int64_t steps = 0;                 ///< timed, of all copies, after three warm-up steps of each
  double ms_min = 0, ms_median = 0;  ///< of a step: with copies, while the others run, too
  double tokens_per_second = 0;      ///< of the median step
  double steps_per_second = 0;       ///< of all copies, from the first one's begin to the last one's end
  std::vector<double> steps_per_second_of_each;
  int64_t parameters = 0;
  int64_t peak_bytes = 0;                 ///< highest number of bytes that tensors held
  int64_t system_allocations = 0;         ///< number of memory requests to the system after the second step
  std::vector<engine::ProfiledOp> ops;    ///< of the profiled steps
  std::optional<ProfileTable> profile{};  ///< of them; with a floor for f32, or bf16, on the CPU
  /// The least step over the floor, which is made of least times as well; 0 without one.
  double step_over_floor() const { return profile && profile->floor_ms() > 0 ? ms_min / profile->floor_ms() : 0; }
};

/// Times a Trainer's steps on random data, which is on the device: forward, backward, AdamW (learning rate 1e-3, decay
/// 0.1). A step on a device takes from the end of the one before it to the end of its own work. Throws Error for a
/// profile of several copies, and if the system has no thread for each.
BenchResult bench(const Workload& workload, const BenchOptions& options);

/// One line of JSON.
std::string to_json(const BenchResult& result);

}  // namespace headroom::experiments
