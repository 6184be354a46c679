#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tasks/sampled_task.h"

namespace headroom::tasks {

/// The rows of a target (B, T, d) that count in losses and metrics of regression tasks.
struct ScoredRows {
  int64_t first = 0;              ///< positions t >= first
  bool zero_is_unscored = false;  ///< skip all-zero rows (for targets whose rows sum to 1)
};

/// Over the scored rows: "mse", "relative_mse" = MSE / Var(y) over all their numbers, and "error_l2" = the mean of ‖y −
/// ŷ‖₂ per row. Sums in f64, in batch order.
class RegressionMeter : public Meter {
 public:
  /// `task` names the task in errors.
  RegressionMeter(std::string task, ScoredRows scored) : task_(std::move(task)), scored_(scored) {}
  /// output f32 (B, T, d). Throws Error if its shape is not the target's.
  void add(const Tensor& output, const Batch& batch) override;
  /// Sums of squared errors, targets, their squares and norms of error rows; counts of numbers and rows.
  std::vector<double> sums() const override;
  Metrics metrics(const std::vector<double>& sums) const override;

 private:
  std::string task_;
  ScoredRows scored_;
  int64_t count_ = 0, rows_ = 0;
  double squared_error_ = 0, sum_ = 0, sum_squares_ = 0, norms_ = 0;
};

/// The names of RegressionMeter's metrics.
inline std::set<std::string> regression_metrics() { return {"mse", "relative_mse", "error_l2"}; }

/// At most 256 pairs (target, output), evenly spaced over the scored numbers. output f32 (B, T, d).
std::vector<std::pair<double, double>> regression_pairs(const Tensor& output, const Tensor& target, ScoredRows scored);

/// A task that asks for numbers (B, T, d_out) that tokens (B, T, d) determine. Loss: MSE over positions t >= first.
/// Metrics there: those of RegressionMeter.
class RegressionTask : public SampledTask {
 public:
  Var loss(const Var& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
  std::vector<std::pair<double, double>> predictions(const Tensor& output, const Batch& batch) const override;
  std::string criterion() const override { return "mse"; }

  /// x f32 (B, T, d) → y f32 (B, T, d_out).
  virtual Tensor target(const Tensor& x) const = 0;
  /// ŷ (B, T, d_out) of a model's output.
  virtual Var prediction(const Var& output) const { return output; }

 protected:
  /// `name` names the task in errors; `dim` is d.
  RegressionTask(std::string name, int64_t dim, int64_t first) : name_(std::move(name)), dim_(dim), first_(first) {}
  /// x, contiguous. Throws Error unless it is (B, T, d).
  Tensor tokens(const Tensor& x) const;

 private:
  std::string name_;
  int64_t dim_, first_;
};

}  // namespace headroom::tasks
