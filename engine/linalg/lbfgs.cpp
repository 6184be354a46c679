#include "engine/linalg/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "engine/error.h"

namespace headroom::engine::linalg {
namespace {

using Numbers = std::vector<double>;

constexpr double decrease = 1e-4, curvature = 0.9;  // c₁ and c₂ of the strong Wolfe conditions
constexpr int most_trials = 30;                     // of one line search

double inner(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(Numbers& to, double factor, const Numbers& x) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += factor * x[i];
}

/// A point on a line: how far along, the function and its slope there.
struct OnLine {
  double step = 0, value = 0, slope = 0;
  Numbers x, gradient;
};

/// The minimum of the cubic through two points with their slopes; the midpoint if that is not well inside.
double between(const OnLine& a, const OnLine& b) {
  const double middle = (a.step + b.step) / 2, width = std::abs(b.step - a.step);
  if (!std::isfinite(b.value) || !std::isfinite(b.slope)) return middle;
  const double d = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step);
  const double under = d * d - a.slope * b.slope;
  if (under < 0) return middle;
  const double root = std::copysign(std::sqrt(under), b.step - a.step);
  const double step = b.step - (b.step - a.step) * (b.slope + root - d) / (b.slope - a.slope + 2 * root);
  const double nearest = std::min(std::abs(step - a.step), std::abs(step - b.step));
  return nearest > 0.1 * width && std::abs(step - middle) < width / 2 ? step : middle;
}

/// From a point down a direction to one where the strong Wolfe conditions hold; false if none is found.
class LineSearch {
 public:
  LineSearch(const Objective& objective, const OnLine& from, const Numbers& direction)
      : objective_(objective), from_(from), direction_(direction) {}

  bool run(double first, OnLine& to) {
    OnLine last = from_;
    for (double step = first; trials_ < most_trials; step *= 2) {
      to = at(step);
      if (!falls(to) || (last.step > 0 && to.value >= last.value)) return zoom(last, to, to);
      if (flat(to)) return true;
      if (to.slope >= 0) return zoom(to, last, to);
      last = to;
    }
    return true;  // still falling as steeply: as far as it goes
  }

 private:
  /// 3.6: `low` falls enough and is the least so far; a point that meets both conditions is between it and `high`.
  bool zoom(OnLine low, OnLine high, OnLine& to) {
    while (trials_ < most_trials) {
      to = at(between(low, high));
      if (!falls(to) || to.value >= low.value) {
        high = to;
        continue;
      }
      if (flat(to)) return true;
      if (to.slope * (high.step - low.step) >= 0) high = low;
      low = to;
    }
    to = low;  // less than before, though its slope is still steep
    return low.step > 0 && low.value < from_.value;
  }

  OnLine at(double step) {
    ++trials_;
    OnLine point{step, 0, 0, from_.x, Numbers(from_.x.size())};
    add_scaled(point.x, step, direction_);
    point.value = objective_(point.x, point.gradient);
    point.slope = inner(point.gradient, direction_);
    return point;
  }

  bool falls(const OnLine& point) const {
    return std::isfinite(point.slope) && point.value <= from_.value + decrease * point.step * from_.slope;
  }
  bool flat(const OnLine& point) const { return std::abs(point.slope) <= -curvature * from_.slope; }

  const Objective& objective_;
  const OnLine& from_;
  const Numbers& direction_;
  int trials_ = 0;
};

/// The last steps and changes of the gradient, which stand for the inverse Hessian (7.4).
class History {
 public:
  explicit History(int64_t memory) : memory_(static_cast<size_t>(memory)) {}

  void add(const OnLine& from, const OnLine& to) {
    Numbers s = to.x, y = to.gradient;
    add_scaled(s, -1, from.x);
    add_scaled(y, -1, from.gradient);
    const double sy = inner(s, y);
    if (!(sy > 1e-14 * std::sqrt(inner(s, s) * inner(y, y))))
      return;  // no curvature: the inverse would not be positive
    pairs_.push_back({std::move(s), std::move(y), 1 / sy});
    if (pairs_.size() > memory_) pairs_.pop_front();
  }

  Numbers direction(const Numbers& gradient) const {
    Numbers d = gradient, alphas(pairs_.size());
    for (size_t i = pairs_.size(); i-- > 0;) {
      alphas[i] = pairs_[i].rho * inner(pairs_[i].s, d);
      add_scaled(d, -alphas[i], pairs_[i].y);
    }
    const double scale = pairs_.empty() ? 1 : 1 / (pairs_.back().rho * inner(pairs_.back().y, pairs_.back().y));
    for (double& x : d) x *= scale;
    for (size_t i = 0; i < pairs_.size(); ++i)
      add_scaled(d, alphas[i] - pairs_[i].rho * inner(pairs_[i].y, d), pairs_[i].s);
    for (double& x : d) x = -x;
    return d;
  }

  bool empty() const { return pairs_.empty(); }
  void clear() { pairs_.clear(); }

 private:
  struct Pair {
    Numbers s, y;
    double rho;
  };
  size_t memory_;
  std::deque<Pair> pairs_;
};

}  // namespace

Minimum lbfgs(const Objective& objective, Numbers start, const LbfgsOptions& options) {
  require(options.steps >= 0 && options.memory >= 1 && options.gradient >= 0,
          "lbfgs: expected steps >= 0, memory >= 1 and gradient >= 0, got {}, {} and {}", options.steps, options.memory,
          options.gradient);
  OnLine now{0, 0, 0, std::move(start), {}};
  now.gradient.resize(now.x.size());
  now.value = objective(now.x, now.gradient);
  require(std::isfinite(now.value), "lbfgs: the value at the start is {}", now.value);
  History history(options.memory);
  int64_t steps = 0;
  const auto large = [&](double g) { return std::abs(g) > options.gradient; };
  while (steps < options.steps && now.value > options.enough &&
         std::any_of(now.gradient.begin(), now.gradient.end(), large)) {
    const Numbers direction = history.direction(now.gradient);
    now.step = 0;
    now.slope = inner(now.gradient, direction);
    const double first = history.empty() ? std::min(1.0, 1 / std::sqrt(inner(now.gradient, now.gradient))) : 1;
    OnLine next;
    if (now.slope < 0 && LineSearch(objective, now, direction).run(first, next)) {
      history.add(now, next);
      now = std::move(next);
      ++steps;
    } else if (history.empty()) {
      break;
    } else {
      history.clear();
    }
  }
  return {std::move(now.x), now.value, steps};
}

}  // namespace headroom::engine::linalg
