#include "tasks/compression/weight_refinement.h"

#include <cmath>
#include <map>

#include "autograd/ops.h"
#include "autograd/optim/optimizer.h"
#include "engine/error.h"

namespace headroom::tasks {
namespace {

using autograd::Var;
using engine::Tensor;

/// A projection's factors as (H, d, r) and (H, r, D), and what they stand for, (H, d, D).
struct Factored {
  size_t a_index, b_index;  ///< in the edit's weights
  Var a, b, target;
};

double square_of(const Tensor& x) {
  double sum = 0;
  const auto* values = x.data<float>();
  for (int64_t i = 0; i < x.numel(); ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

/// Σ ‖W − A B‖², and with `scattered` the gradient's square where every other residual has the other sign.
double error_of(const Factored& f) {
  const autograd::NoGrad no_grad;
  return square_of((f.target - autograd::matmul(f.a, f.b)).value().contiguous());
}

/// ‖∂/∂A‖² + ‖∂/∂B‖² of the mean squared error; `scattered`: with the sign of every other residual turned.
double gradient_square(const Factored& f, bool scattered) {
  const autograd::NoGrad no_grad;
  const Tensor residual = (f.target - autograd::matmul(f.a, f.b)).value().contiguous().clone();  // (H, d, D)
  if (scattered)
    for (int64_t i = 1; i < residual.numel(); i += 2) residual.mutable_data<float>()[i] *= -1;
  const Var r(residual);
  const double scale = 2 / static_cast<double>(residual.numel());
  return scale * scale *
         (square_of(autograd::matmul(r, f.b, false, true).value().contiguous()) +
          square_of(autograd::matmul(f.a, r, true).value().contiguous()));
}

std::vector<Factored> factors_of(const models::TransformerConfig& base, models::WeightSource& weights,
                                 const models::ModelEdit& edit) {
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < edit.weights.size(); ++i) by_name[edit.weights[i].first] = i;
  std::vector<Factored> out;
  for (const auto& [name, a_index] : by_name) {
    if (!name.ends_with(".weight_a")) continue;
    const std::string stem = name.substr(0, name.size() - 2);  // "….weight"
    const size_t b_index = by_name.at(stem + "_b");
    const Tensor &a = edit.weights[a_index].second, &b = edit.weights[b_index].second;
    const int64_t rank = a.dim(1), heads = b.dim(0) / rank, rows = a.dim(0), width = b.dim(1);
    const bool is_own = name.find(".attention.0.") != std::string::npos && width == base.width;
    require(is_own, "refinement by weights: layers of one group of heads, got '{}'", name);
    const Tensor w = weights.matrix(stem, rows, width, {}).values(engine::DType::f32);  // (H·d, D)
    out.push_back({a_index, b_index, Var(a.reshape({heads, rows / heads, rank}).clone(), true),
                   Var(b.reshape({heads, rank, width}).clone(), true), Var(w.reshape({heads, rows / heads, width}))});
  }
  require(!out.empty(), "refinement by weights: the edit has no factors per head");
  return out;
}

}  // namespace

WeightRefinement refine_weights(const models::TransformerConfig& base, models::WeightSource& weights,
                                models::ModelEdit edit, const WeightRefinementConfig& config) {
  require(config.steps >= 1, "refinement by weights: {} steps", config.steps);
  WeightRefinement out{.edit = std::move(edit)};
  std::vector<Factored> factors = factors_of(base, weights, out.edit);
  std::vector<autograd::Parameter> parameters;
  double gradient = 0, scattered = 0, norm = 0;
  for (const Factored& f : factors) {
    out.error_before += error_of(f);
    gradient += gradient_square(f, false);
    scattered += gradient_square(f, true);
    norm += square_of(f.a.value()) + square_of(f.b.value());
    parameters.push_back({out.edit.weights[f.a_index].first, f.a});
    parameters.push_back({out.edit.weights[f.b_index].first, f.b});
  }
  out.gradient = std::sqrt(gradient), out.gradient_scale = std::sqrt(scattered);
  autograd::ParameterArena arena(parameters);
  const auto optimizer =
      autograd::make_optimizer({.kind = "adamw", .lr = config.lr, .weight_decay = config.weight_decay}, arena);
  for (int64_t step = 0; step < config.steps; ++step) {
    for (const Factored& f : factors) f.a.zero_grad(), f.b.zero_grad();
    for (const Factored& f : factors) autograd::mse(autograd::matmul(f.a, f.b), f.target).backward();
    optimizer->step(config.lr);
  }
  double moved = 0;
  for (const Factored& f : factors) {
    out.error_after += error_of(f);
    for (const auto& [index, now] : {std::pair{f.a_index, f.a.value()}, {f.b_index, f.b.value()}}) {
      const Tensor before = out.edit.weights[index].second;
      const Tensor after = now.reshape(before.shape()).contiguous().clone();
      moved += square_of((Var(after) - Var(before)).value());
      out.edit.weights[index].second = after;
    }
  }
  out.update = norm > 0 ? std::sqrt(moved / norm) : 0;
  return out;
}

}  // namespace headroom::tasks
