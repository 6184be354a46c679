#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/var.h"
#include "engine/rng.h"

namespace headroom::models {
class Transformer;
struct ForwardContext;
}  // namespace headroom::models

namespace headroom::tasks {

using autograd::Var;
using engine::Tensor;

/// The model's inputs and targets.
struct Batch {
  Tensor input;       ///< (B, T, input_dim) real, or tokens i64 (B, T)
  Tensor target;      ///< (B, T, output_dim) real, or classes i64 (B, T) or (B), ignore_index where nothing is scored
  Tensor key_mask{};  ///< bool (B, T), true = may be attended; undefined = all
  Tensor response{};  ///< bool (B, T), true = the target belongs to a response; undefined = the task tells none apart

  /// Sequences [begin, end).
  Batch slice(int64_t begin, int64_t end) const;
  Batch to(engine::Device device) const;
};

/// A class target that is in no loss and no metric.
inline constexpr int64_t ignore_index = -100;

using Metrics = std::map<std::string, double>;  ///< name → value

/// Whether more of a metric is better: true for accuracies, rates and shares of a peak; false for errors, losses,
/// perplexities and times.
bool larger_is_better(const std::string& metric);
/// Whether a metric is a part of a whole, between 0 and 1, where differences say more than ratios: shares of attention,
/// of heads, of the squared error.
bool is_share(const std::string& metric);
/// Whether a metric is read off a clock, and so differs from run to run: times, rates, shares of a peak.
bool is_clock_metric(const std::string& metric);

/// Metrics of a whole data set, fed batch by batch: functions of f64 sums that grow in the order of the batches.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual void add(const Tensor& output, const Batch& batch) = 0;
  /// Whether add() takes an output as a model gives it, on its device and in its dtype. Else evaluate() moves it to the
  /// CPU, halves as f32.
  virtual bool adds_on_device() const { return false; }
  /// What was added up so far. The sums of two sets together are the sums of each, added, so that a part of a set can
  /// be left out by subtraction.
  virtual std::vector<double> sums() const = 0;
  /// The metrics of a set that has these sums.
  virtual Metrics metrics(const std::vector<double>& sums) const = 0;
  Metrics result() const { return metrics(sums()); }
};

/// The two fixed sets: choices are made on `validation`, reports and verdicts on `test`.
enum class Split { validation, test };

/// The seed of the validation and test streams. Training seeds may have the same value: the streams' names differ.
inline constexpr uint64_t evaluation_seed = 0;

/// The inputs and outputs of a model for a task.
struct ModelInterface {
  int64_t length = 0;      ///< longest sequence
  int64_t vocab = 0;       ///< > 0: token input; exactly one of vocab and input_dim is set
  int64_t input_dim = 0;   ///< > 0: real-valued tokens
  int64_t output_dim = 0;  ///< width of the readout
  bool pooled = false;     ///< one output per sequence, over the mean of its positions
  bool predicts = false;   ///< targets are later inputs, which a model that is not causal would read
};

/// What a Trainer (tasks/training/trainer.h) trains on: where batches come from, and the loss. Threads: one may serve
/// many trainers, since all of it is const; one of your own keeps to that.
class Objective {
 public:
  virtual ~Objective() = default;
  /// The sequences of one update: a pure function of the seed, the streams' offsets and `step`, so that a resumed run
  /// sees the same ones. `rng` is left at the same offsets whatever the data.
  virtual Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const = 0;
  /// A batch on the CPU as the loss needs it: whatever is worked out from it one number at a time is done here, since
  /// loss() may have it on a device. What it has done once it leaves as it is.
  virtual Batch staged(const Batch& batch) const { return batch; }
  /// output (B, T, output_dim) → scalar, as it trains.
  virtual Var loss(const Var& output, const Batch& batch) const = 0;
  /// What a step differentiates: loss() of the model's output, unless an objective looks at more of the model.
  virtual Var loss_of(const models::Transformer& model, const Batch& batch,
                      const models::ForwardContext& context) const;
};

/// How much of a construction that solves a task is written into a model: the slopes of its ALiBi, or all its weights.
enum class Construct { slopes, weights };

/// A source of data, the loss to train on, and the metrics to judge by.
class Task : public Objective {
 public:
  virtual ModelInterface model_interface() const = 0;
  /// A fixed set, the same for every trial of the task: at most `sequences` of them, fewer where the data has fewer.
  virtual Batch evaluation(Split split, int64_t sequences) const = 0;
  virtual std::unique_ptr<Meter> meter() const = 0;
  /// Pairs (target, output) of single numbers at scored positions, in the order of the batch, at most a few hundred:
  /// for a scatter plot. None where the output has no such reading. The output is where the meter takes it.
  virtual std::vector<std::pair<double, double>> predictions(const Tensor& /*output*/, const Batch& /*batch*/) const {
    return {};
  }
  /// Metrics of how the model does it, besides those of its output, over the sequences of one batch: none for most.
  virtual Metrics probes(const models::Transformer& /*model*/, const Batch& /*batch*/) const { return {}; }
  /// Writes the weights that a proof constructs for the task into a drawn model: where training may start. Throws Error
  /// where the task has none, and naming what of the model does not fit.
  virtual void construct(const models::Transformer& model, Construct what) const;
  /// The metric that checkpoints, early stops and learning rates are chosen by.
  virtual std::string criterion() const = 0;
  /// File → SHA-256 of everything that was read from disk.
  virtual std::map<std::string, std::string> data_hashes() const { return {}; }
  virtual std::string describe() const = 0;
};

}  // namespace headroom::tasks
