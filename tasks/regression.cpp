#include "tasks/regression.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::tasks {
namespace {

constexpr int64_t most_pairs = 256;

/// Calls f(want, got) with the d numbers of each scored row.
template <class F>
void for_each_row(const Tensor& output, const Tensor& target, ScoredRows scored, F&& f) {
  const int64_t length = target.dim(1), d = target.dim(2);
  const Tensor y = target.slice(1, std::min(scored.first, length), length).contiguous();  // (B, T - first, d)
  const Tensor p = output.slice(1, std::min(scored.first, length), length).contiguous();  // (B, T - first, d)
  const float *want = y.data<float>(), *got = p.data<float>();
  for (int64_t i = 0; i < y.numel(); i += d) {
    const auto is_zero = [](float value) { return value == 0; };
    if (scored.zero_is_unscored && std::all_of(want + i, want + i + d, is_zero)) continue;
    f(want + i, got + i);
  }
}

/// Metrics of what a task makes of a model's output.
class PredictionMeter : public RegressionMeter {
 public:
  PredictionMeter(const RegressionTask& task, const std::string& name, ScoredRows scored)
      : RegressionMeter(name, scored), task_(task) {}
  void add(const Tensor& output, const Batch& batch) override {
    RegressionMeter::add(task_.prediction(Var(output)).value(), batch);
  }

 private:
  const RegressionTask& task_;
};

}  // namespace

void RegressionMeter::add(const Tensor& output, const Batch& batch) {
  require(output.shape() == batch.target.shape(), "{}: output {} is not the target's shape {}", task_,
          output.shape().str(), batch.target.shape().str());
  const int64_t d = output.dim(2);
  for_each_row(output, batch.target, scored_, [&](const float* want, const float* got) {
    double squares = 0;
    for (int64_t j = 0; j < d; ++j) {
      const double t = want[j], error = got[j] - t;
      squared_error_ += error * error;
      squares += error * error;
      sum_ += t;
      sum_squares_ += t * t;
    }
    norms_ += std::sqrt(squares);
    count_ += d;
    ++rows_;
  });
}

std::vector<double> RegressionMeter::sums() const {
  return {squared_error_, sum_, sum_squares_, norms_, static_cast<double>(count_), static_cast<double>(rows_)};
}

Metrics RegressionMeter::metrics(const std::vector<double>& sums) const {
  const double n = std::max(sums[4], 1.0);
  const double mse = sums[0] / n, mean = sums[1] / n;
  return {{"mse", mse},
          {"relative_mse", mse / (sums[2] / n - mean * mean)},
          {"error_l2", sums[3] / std::max(sums[5], 1.0)}};
}

std::vector<std::pair<double, double>> regression_pairs(const Tensor& output, const Tensor& target, ScoredRows scored) {
  std::vector<std::pair<double, double>> all;
  const int64_t d = target.dim(2);
  for_each_row(output, target, scored, [&](const float* want, const float* got) {
    for (int64_t j = 0; j < d; ++j) all.emplace_back(want[j], got[j]);
  });
  const auto total = static_cast<int64_t>(all.size());
  if (total <= most_pairs) return all;
  std::vector<std::pair<double, double>> some;
  for (int64_t i = 0; i < most_pairs; ++i) some.push_back(all[static_cast<size_t>(i * total / most_pairs)]);
  return some;
}

Var RegressionTask::loss(const Var& output, const Batch& batch) const {
  const Var y = prediction(output);
  if (first_ == 0) return autograd::mse(y, Var(batch.target));
  const int64_t length = batch.target.dim(1);
  const Var scored = autograd::slice(y, 1, first_, length);  // (B, T - first, d_out)
  return autograd::mse(scored, Var(batch.target.slice(1, first_, length)));
}

std::unique_ptr<Meter> RegressionTask::meter() const {
  return std::make_unique<PredictionMeter>(*this, name_, ScoredRows{.first = first_});
}

std::vector<std::pair<double, double>> RegressionTask::predictions(const Tensor& output, const Batch& batch) const {
  return regression_pairs(prediction(Var(output)).value(), batch.target, {.first = first_});
}

Tensor RegressionTask::tokens(const Tensor& x) const {
  require(x.rank() == 3 && x.dim(2) == dim_, "{}: tokens {} are not (B, T, {})", name_, x.shape().str(), dim_);
  return x.contiguous();
}

}  // namespace headroom::tasks
