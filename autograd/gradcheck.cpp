#include "autograd/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"

namespace headroom::autograd {
namespace {

using Values = std::vector<double>;

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double norm(const Values& a) { return std::sqrt(dot(a, a)); }

class Checker {
 public:
  Checker(const std::function<Var(const std::vector<Var>&)>& f, const std::vector<Var>& inputs,
          const engine::RngKey& key, const GradcheckOptions& options)
      : f_(f), inputs_(inputs), key_(key), options_(options) {}

  GradcheckResult run() {
    std::vector<Var> leaves;
    bool any = false;
    for (const Var& input : inputs_) {
      leaves.push_back(input.defined() ? Var(input.value().clone(), input.requires_grad()) : Var());
      if (!input.requires_grad()) continue;
      any = true;
      if (input.value().dtype() != DType::f64) fail("gradcheck: input {} is not f64", input.value().str());
    }
    require(any, "gradcheck: no input requires a gradient");
    const Var y = f_(leaves);
    if (y.value().dtype() != DType::f64) fail("gradcheck: the result {} is not f64", y.value().str());
    cotangent_ = engine::random_normal(y.shape(), 0, 1, key_, DType::f64);
    u_ = cotangent_.to_vector<double>();
    noise_ = 8 * std::numeric_limits<double>::epsilon() * norm(u_) * norm(y.value().to_vector<double>());
    if (y.requires_grad()) y.backward(cotangent_);
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].requires_grad()) check_input(i, leaves[i].grad());
    return result_;
  }

 private:
  using DType = engine::DType;

  /// <u, f> with input i replaced.
  double value_at(size_t i, const Values& x) {
    const NoGrad no_grad;
    std::vector<Var> moved;
    for (const Var& input : inputs_) moved.push_back(input.defined() ? input.detach() : Var());
    moved[i] = Var(Tensor::from<double>(inputs_[i].shape(), x));
    return dot(u_, f_(moved).value().to_vector<double>());
  }

  /// The key of another choice: with the cotangent as direction, u·Au would not tell A from its transpose.
  engine::RngKey key_of(size_t choice) const {
    engine::RngKey key = key_;
    key.stream += static_cast<uint32_t>(choice);
    key.count = engine::RngKey{}.count;  // the caller counted the cotangent's values
    return key;
  }

  void check_input(size_t i, const Tensor& gradient) {
    const Values x = inputs_[i].value().to_vector<double>();
    const Values g = gradient.defined() ? gradient.to_vector<double>() : Values(x.size(), 0.0);
    const auto n = static_cast<int64_t>(x.size());
    const bool all = options_.elements == 0 || n <= options_.elements;
    const int64_t count = all ? n : options_.elements;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = all ? k : random_bits(key_of(2 * i + 1), static_cast<uint64_t>(k)) % n;
      const auto e = static_cast<size_t>(at);
      Values direction(x.size(), 0.0);
      direction[e] = 1;
      compare(i, element_name(inputs_[i].shape(), at), g[e], x, direction,
              options_.step * std::max(1.0, std::fabs(x[e])));
    }
    if (all) return;
    Values direction = engine::random_normal({n}, 0, 1, key_of(2 * i + 2), DType::f64).to_vector<double>();
    const double length = norm(direction);
    double largest = 1;
    for (size_t k = 0; k < x.size(); ++k) direction[k] /= length, largest = std::max(largest, std::fabs(x[k]));
    compare(i, "along a random direction", dot(g, direction), x, direction, options_.step * largest);
  }

  void compare(size_t input, const std::string& where, double analytic, const Values& x, const Values& direction,
               double h) {
    Values plus = x, minus = x;
    for (size_t k = 0; k < x.size(); ++k) plus[k] += h * direction[k], minus[k] -= h * direction[k];
    const double numeric = (value_at(input, plus) - value_at(input, minus)) / (2 * h);
    const double difference = std::max(std::fabs(analytic - numeric) - noise_ / h, 0.0);  // keeps NaN
    const double scaled = difference / std::max(1.0, std::fabs(numeric));
    if (scaled <= options_.tolerance && scaled <= result_.worst) return;
    // NaN fails, and stays the worst.
    if (!(scaled <= options_.tolerance)) result_.ok = false;
    if (std::isnan(result_.worst) || scaled <= result_.worst) return;
    result_.worst = scaled;
    result_.message = fmt::format("input {} {}: analytic {:.9g}, numeric {:.9g}", input, where, analytic, numeric);
  }

  const std::function<Var(const std::vector<Var>&)>& f_;
  const std::vector<Var>& inputs_;
  const engine::RngKey& key_;
  const GradcheckOptions& options_;
  Tensor cotangent_;
  Values u_;
  double noise_ = 0;
  GradcheckResult result_;
};

}  // namespace

std::string element_name(const Shape& shape, int64_t flat) {
  Shape index = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index.str();
}

GradcheckResult gradcheck(const std::function<Var(const std::vector<Var>&)>& f, const std::vector<Var>& inputs,
                          const engine::RngKey& cotangent, const GradcheckOptions& options) {
  require(f != nullptr, "gradcheck: no function");
  require(options.step > 0 && options.tolerance >= 0 && options.elements >= 0,
          "gradcheck: step {}, tolerance {}, {} elements", options.step, options.tolerance, options.elements);
  return Checker(f, inputs, cotangent, options).run();
}

}  // namespace headroom::autograd
