#include "autograd/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/error.h"

namespace headroom::autograd {
namespace {

double as_double(int64_t x) { return static_cast<double>(x); }

class Constant final : public Schedule {
 public:
  double factor(int64_t) const override { return 1; }
  std::string describe() const override { return "constant"; }
};

/// (step + 1) / warmup until it reaches 1.
class Warmup final : public Schedule {
 public:
  explicit Warmup(int64_t warmup) : warmup_(warmup) {}
  double factor(int64_t step) const override { return std::min(1.0, as_double(step + 1) / as_double(warmup_)); }
  std::string describe() const override { return fmt::format("warm-up over {} steps", warmup_); }

 private:
  int64_t warmup_;
};

/// final + (1 - final)·(1 + cos(π·(step - start)/steps))/2, held at its ends (Loshchilov & Hutter, 2017).
class Cosine final : public Schedule {
 public:
  explicit Cosine(const ScheduleConfig& c) : start_(c.start), steps_(c.steps), final_(c.final_factor) {}
  double factor(int64_t step) const override {
    const double t = std::clamp(as_double(step - start_) / as_double(steps_), 0.0, 1.0);
    return final_ + (1 - final_) * 0.5 * (1 + std::cos(std::numbers::pi * t));
  }
  std::string describe() const override {
    return fmt::format("cosine to {} over steps {}..{}", final_, start_, start_ + steps_);
  }

 private:
  int64_t start_, steps_;
  double final_;
};

class Step final : public Schedule {
 public:
  Step(int64_t steps, double factor) : steps_(steps), factor_(factor) {}
  double factor(int64_t step) const override { return std::pow(factor_, as_double(step / steps_)); }
  std::string describe() const override { return fmt::format("times {} every {} steps", factor_, steps_); }

 private:
  int64_t steps_;
  double factor_;
};

/// min((step+1)/warmup, √(warmup/(step+1))): Vaswani et al. (2017), scaled to peak at 1.
class InverseSqrt final : public Schedule {
 public:
  explicit InverseSqrt(int64_t warmup) : warmup_(as_double(warmup)) {}
  double factor(int64_t step) const override {
    const double t = as_double(step + 1);
    return std::min(t / warmup_, std::sqrt(warmup_ / t));
  }
  std::string describe() const override { return fmt::format("inverse square root, warm-up {}", warmup_); }

 private:
  double warmup_;
};

/// Drops when a loss has not improved by a relative `threshold` for more than `patience` observations, as PyTorch's
/// ReduceLROnPlateau does.
class ReduceOnPlateau final : public Schedule {
 public:
  explicit ReduceOnPlateau(const ScheduleConfig& c)
      : drop_(c.factor), threshold_(c.threshold), patience_(as_double(c.patience)) {}
  double factor(int64_t) const override { return factor_; }
  void observe(double loss) override {
    if (loss < best_ * (1 - threshold_)) {
      best_ = loss;
      bad_ = 0;
    } else if (++bad_ > patience_) {
      factor_ *= drop_;
      bad_ = 0;
    }
  }
  std::string describe() const override {
    return fmt::format("times {} after {} evaluations without improvement", drop_, patience_);
  }
  std::vector<double> state() const override { return {factor_, best_, bad_}; }
  void load_state(const std::vector<double>& state) override {
    require(state.size() == 3, "schedule state: expected 3 numbers, got {}", state.size());
    factor_ = state[0], best_ = state[1], bad_ = state[2];
  }

 private:
  double drop_, threshold_, patience_;
  double factor_ = 1, best_ = std::numeric_limits<double>::infinity(), bad_ = 0;
};

class Product final : public Schedule {
 public:
  explicit Product(std::vector<std::unique_ptr<Schedule>> parts) : parts_(std::move(parts)) {}
  double factor(int64_t step) const override {
    double product = 1;
    for (const auto& part : parts_) product *= part->factor(step);
    return product;
  }
  void observe(double loss) override {
    for (const auto& part : parts_) part->observe(loss);
  }
  std::string describe() const override {
    std::string text;
    for (const auto& part : parts_) text += (text.empty() ? "" : " × ") + part->describe();
    return text;
  }
  std::vector<double> state() const override {
    std::vector<double> all;
    for (const auto& part : parts_)
      for (double x : part->state()) all.push_back(x);
    return all;
  }
  void load_state(const std::vector<double>& state) override {
    size_t at = 0;
    for (const auto& part : parts_) {
      const size_t n = part->state().size();
      require(at + n <= state.size(), "schedule state: {} numbers are too few", state.size());
      part->load_state({state.begin() + static_cast<int64_t>(at), state.begin() + static_cast<int64_t>(at + n)});
      at += n;
    }
    require(at == state.size(), "schedule state: expected {} numbers, got {}", at, state.size());
  }

 private:
  std::vector<std::unique_ptr<Schedule>> parts_;
};

std::unique_ptr<Schedule> make_one(const ScheduleConfig& c) {
  if (c.kind == "constant") return std::make_unique<Constant>();
  if (c.kind == "warmup" || c.kind == "inverse_sqrt") {
    require(c.warmup >= 1, "schedule.warmup: {} is below 1", c.warmup);
    if (c.kind == "warmup") return std::make_unique<Warmup>(c.warmup);
    return std::make_unique<InverseSqrt>(c.warmup);
  }
  if (c.kind == "cosine") {
    require(c.steps >= 1, "schedule.steps: {} is below 1", c.steps);
    require(c.start >= 0, "schedule.start: {} is negative", c.start);
    require(c.final_factor >= 0 && c.final_factor <= 1, "schedule.final_factor: {} is not in [0, 1]", c.final_factor);
    return std::make_unique<Cosine>(c);
  }
  require(c.kind == "step" || c.kind == "reduce_on_plateau",
          "schedule.kind: unknown '{}'; known: constant, warmup, cosine, step, inverse_sqrt, reduce_on_plateau",
          c.kind);
  require(c.factor > 0 && c.factor <= 1, "schedule.factor: {} is not in (0, 1]", c.factor);
  if (c.kind == "step") {
    require(c.steps >= 1, "schedule.steps: {} is below 1", c.steps);
    return std::make_unique<Step>(c.steps, c.factor);
  }
  require(c.patience >= 0, "schedule.patience: {} is negative", c.patience);
  require(c.threshold >= 0 && c.threshold < 1, "schedule.threshold: {} is not in [0, 1)", c.threshold);
  return std::make_unique<ReduceOnPlateau>(c);
}

}  // namespace

std::unique_ptr<Schedule> make_schedule(const std::vector<ScheduleConfig>& factors) {
  require(!factors.empty(), "schedule: no factors");
  std::vector<std::unique_ptr<Schedule>> parts;
  for (const ScheduleConfig& factor : factors) parts.push_back(make_one(factor));
  if (parts.size() == 1) return std::move(parts[0]);
  return std::make_unique<Product>(std::move(parts));
}

}  // namespace headroom::autograd
