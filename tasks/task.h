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
  Tensor target;      ///< (B, T, output_dim) real, or classes i64 (B, T) or (B); ignore_index is not scored
  Tensor key_mask{};  ///< bool (B, T), true = may be attended; undefined = all
  Tensor response{};  ///< bool (B, T), true = the target belongs to a response; undefined = the task tells none apart

  /// Sequences [begin, end).
  Batch slice(int64_t begin, int64_t end) const;
  Batch to(engine::Device device) const;
};

/// A class target excluded from losses and metrics.
inline constexpr int64_t ignore_index = -100;

using Metrics = std::map<std::string, double>;  ///< name → value

/// True if more of a metric is better: accuracies, rates and shares of a peak, but not errors, losses, perplexities and
/// times.
bool larger_is_better(const std::string& metric);
/// True if a metric is a fraction between 0 and 1, for which differences say more than ratios: shares of attention, of
/// heads, of the squared error.
bool is_share(const std::string& metric);
/// True if a metric is timed and so differs from run to run: times, rates, shares of a peak.
bool is_clock_metric(const std::string& metric);

/// Metrics of a data set, fed batch by batch: functions of f64 sums that grow in batch order.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual void add(const Tensor& output, const Batch& batch) = 0;
  /// True if add() takes the model's output on its device and in its dtype; otherwise evaluate() moves it to the CPU,
  /// with halves as f32.
  virtual bool adds_on_device() const { return false; }
  /// The sums so far. Sums of two sets add up, so a part of a set can be left out by subtraction.
  virtual std::vector<double> sums() const = 0;
  /// The metrics for these sums.
  virtual Metrics metrics(const std::vector<double>& sums) const = 0;
  Metrics result() const { return metrics(sums()); }
};

/// The two fixed sets: `validation` for choices, `test` for reports and verdicts.
enum class Split { validation, test };

/// The seed of the validation and test streams. Training seeds may equal it: the streams' names differ.
inline constexpr uint64_t evaluation_seed = 0;

/// A model's inputs and outputs for a task.
struct ModelInterface {
  int64_t length = 0;      ///< longest sequence
  int64_t vocab = 0;       ///< > 0: token input; exactly one of vocab and input_dim is set
  int64_t input_dim = 0;   ///< > 0: real-valued tokens
  int64_t output_dim = 0;  ///< width of the readout
  bool pooled = false;     ///< one output per sequence, over the mean of its positions
  bool predicts = false;   ///< targets are later inputs, which a non-causal model would read
};

/// A Trainer's (tasks/training/trainer.h) source of batches and its loss. Threads: one may serve many trainers, since
/// everything is const; keep it so in your own.
class Objective {
 public:
  virtual ~Objective() = default;
  /// The sequences of one update: a pure function of the seed, the streams' offsets and `step`, so that a resumed run
  /// sees the same ones. Always advances `rng` by the same amount, whatever the data.
  virtual Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const = 0;
  /// Prepares a CPU batch for the loss: does any work that takes one number at a time, since loss() may get the batch
  /// on a device. Idempotent.
  virtual Batch staged(const Batch& batch) const { return batch; }
  /// The training loss: output (B, T, output_dim), of the model's dtype → scalar.
  virtual Var loss(const Var& output, const Batch& batch) const = 0;
  /// The value that a step differentiates: loss() of the model's output, unless an objective needs more of the model.
  virtual Var loss_of(const models::Transformer& model, const Batch& batch,
                      const models::ForwardContext& context) const;
};

/// The part of a constructed solution to write into a model: only its ALiBi slopes, or all its weights.
enum class Construct { slopes, weights };

/// A source of data, the loss to train on, and the metrics to judge by.
class Task : public Objective {
 public:
  virtual ModelInterface model_interface() const = 0;
  /// A fixed set, the same for every trial of the task: at most `sequences` of them, or all if there are fewer.
  virtual Batch evaluation(Split split, int64_t sequences) const = 0;
  virtual std::unique_ptr<Meter> meter() const = 0;
  /// Pairs (target, output) at scored positions for a scatter plot, in batch order, at most a few hundred. None if the
  /// output cannot be read that way. `output` is on the meter's device.
  virtual std::vector<std::pair<double, double>> predictions(const Tensor& /*output*/, const Batch& /*batch*/) const {
    return {};
  }
  /// Metrics of the model's inner workings, over the sequences of one batch: none for most tasks.
  virtual Metrics probes(const models::Transformer& /*model*/, const Batch& /*batch*/) const { return {}; }
  /// Writes a proof's weights for the task into a drawn model, as a starting point for training. Throws Error if the
  /// task has none, and naming anything in the model that does not fit.
  virtual void construct(const models::Transformer& model, Construct what) const;
  /// The metric that selects checkpoints, early stops and learning rates.
  virtual std::string criterion() const = 0;
  /// File → SHA-256 of everything read from disk.
  virtual std::map<std::string, std::string> data_hashes() const { return {}; }
  virtual std::string describe() const = 0;
};

}  // namespace headroom::tasks
