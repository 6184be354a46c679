#include <cmath>
#include <numbers>

#include "engine/error.h"
#include "tasks/theory/constructive/constructive_transformer.h"

namespace headroom::tasks {
namespace {

using engine::DType, engine::Tensor;

/// A matrix of zeros to be filled.
struct Matrix {
  int64_t rows, columns;
  std::vector<double> values;

  Matrix(int64_t rows_in, int64_t columns_in)
      : rows(rows_in), columns(columns_in), values(static_cast<size_t>(rows_in * columns_in), 0.0) {}
  double& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  Tensor tensor() const { return Tensor::from({rows, columns}, values); }
};

/// Entry (row, i) of the orthonormal DCT-II of size d.
double dct(int64_t row, int64_t i, int64_t d) {
  const auto n = static_cast<double>(d);
  return std::sqrt((row == 0 ? 1 : 2) / n) *
         std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) * static_cast<double>(row) / n);
}

/// P_m (d_m, d): the identity, or rows of the DCT-II.
Matrix projection(const ConstructionPlan& plan, size_t group) {
  const int64_t d = plan.config.token_dim, dim = plan.config.groups[group].head_dim;
  const std::vector<int64_t> rows = rows_read(plan, group);
  Matrix p(dim, d);
  for (int64_t r = 0; r < dim; ++r)
    for (int64_t i = 0; i < d; ++i) p.at(r, i) = dim == d ? (r == i ? 1 : 0) : dct(rows[static_cast<size_t>(r)], i, d);
  return p;
}

/// The factor that cancels the softmax's normaliser: Σ_i x^i, whole or as far as the paper prints it.
double normaliser(double x, size_t heads, bool whole) {
  const double all = 1 / (1 - x);
  return whole ? all : all * (1 - std::pow(x, static_cast<double>(heads + 1)));
}

/// Weights that one group of attention heads adds, `amplitudes` in W_V or (shared) left to W_O.
void add_heads(models::NamedTensors& weights, const ConstructionPlan& plan, size_t group, size_t index) {
  const ConstructionConfig& c = plan.config;
  const ExponentialSum& sum = plan.fetches[group].sum;
  const auto heads = static_cast<int64_t>(sum.nodes.size());
  const int64_t dim = c.groups[group].head_dim;
  Matrix p = projection(plan, group), value(heads * dim, c.width);
  std::vector<double> log_slopes;
  for (int64_t h = 0; h < heads; ++h) {
    const double x = sum.nodes[static_cast<size_t>(h)];
    log_slopes.push_back(std::log(-std::log(x)));
    const double scale = normaliser(x, sum.nodes.size(), c.mended.whole_normaliser) *
                         (c.kind == Construction::shared ? 1 : sum.amplitudes[static_cast<size_t>(h)]);
    for (int64_t r = 0; r < dim; ++r)
      for (int64_t i = 0; i < c.token_dim; ++i) value.at(h * dim + r, i) = scale * p.at(r, i);
  }
  const std::string prefix = fmt::format("blocks.0.attention.{}.", index);
  weights.emplace_back(prefix + "q_proj.weight", Matrix(heads, c.width).tensor());
  weights.emplace_back(prefix + "k_proj.weight", Matrix(heads, c.width).tensor());
  weights.emplace_back(prefix + "v_proj.weight", value.tensor());
  weights.emplace_back(prefix + "log_slopes", Tensor::from({heads}, log_slopes));
}

/// W_O (D, Σ heads·head_dim).
Matrix output_matrix(const ConstructionPlan& plan) {
  const ConstructionConfig& c = plan.config;
  const bool shared = c.kind == Construction::shared;
  int64_t values = 0;
  for (const FetchGroup& group : c.groups)
    values = shared ? group.heads * group.head_dim : values + group.heads * group.head_dim;
  Matrix out(c.width, values);
  int64_t column = 0;
  for (size_t g = 0; g < c.groups.size(); ++g) {
    if (shared) column = 0;
    for (int64_t h = 0; h < c.groups[g].heads; ++h)
      for (int64_t r = 0; r < c.groups[g].head_dim; ++r, ++column)
        out.at(plan.row(g) + r, column) = shared ? plan.fetches[g].sum.amplitudes[static_cast<size_t>(h)] : 1;
  }
  return out;
}

/// G (d, D) of constructive_weights().
Matrix combination(const ConstructionPlan& plan) {
  const ConstructionConfig& c = plan.config;
  Matrix g(c.token_dim, c.width);
  for (int64_t i = 0; i < c.token_dim; ++i) g.at(i, i) = plan.weight(0) - 1;
  for (size_t m = 0; m < c.groups.size(); ++m) {
    Matrix p = projection(plan, m);
    const double rho = plan.weight(c.groups[m].lag);
    for (int64_t i = 0; i < c.token_dim; ++i) {
      for (int64_t r = 0; r < p.rows; ++r) {
        g.at(i, plan.row(m) + r) += rho * p.at(r, i);
        for (int64_t j = 0; j < c.token_dim; ++j) g.at(i, j) -= plan.fetches[m].leak * rho * p.at(r, i) * p.at(r, j);
      }
    }
  }
  return g;
}

}  // namespace

models::TransformerConfig constructive_config(const ConstructionPlan& plan, int64_t length,
                                              models::Activation activation) {
  require(
      !models::is_gated(activation),
      "constructive transformer: a linear map from a gated network needs its biases; expected relu, gelu, gelu_tanh "
      "or silu");
  const ConstructionConfig& c = plan.config;
  models::TransformerConfig model;
  model.width = c.width;
  for (const FetchGroup& group : c.groups) {
    if (c.kind == Construction::shared && !model.groups.empty()) break;
    model.groups.push_back({.heads = group.heads, .qk_dim = 1, .v_dim = group.head_dim});
  }
  model.max_length = length + plan.zeros;
  model.input_dim = model.output_dim = c.token_dim;
  model.causal = true;
  model.positions = models::Positions::alibi;
  model.norm = models::Norm::none;
  model.final_norm = false;
  model.ffn_width = 2 * c.token_dim;
  model.activation = activation;
  model.attention_bias = model.ffn_bias = false;
  return model;
}

models::NamedTensors constructive_weights(const ConstructionPlan& plan) {
  const ConstructionConfig& c = plan.config;
  const int64_t d = c.token_dim;
  Matrix embed(c.width, d), readout(d, c.width), up(2 * d, c.width), down(c.width, 2 * d), g = combination(plan);
  for (int64_t i = 0; i < d; ++i) {
    embed.at(i, i) = readout.at(i, i) = down.at(i, i) = 1;
    down.at(i, d + i) = -1;
    for (int64_t j = 0; j < c.width; ++j) {
      up.at(i, j) = g.at(i, j);
      up.at(d + i, j) = -g.at(i, j);
    }
  }
  models::NamedTensors weights{{"input.weight", embed.tensor()},
                               {"input.bias", Tensor::zeros({c.width}, DType::f64)},
                               {"blocks.0.attention.o_proj.weight", output_matrix(plan).tensor()},
                               {"blocks.0.ffn.up.weight", up.tensor()},
                               {"blocks.0.ffn.down.weight", down.tensor()},
                               {"readout.weight", readout.tensor()},
                               {"readout.bias", Tensor::zeros({d}, DType::f64)}};
  const size_t groups = c.kind == Construction::shared ? 1 : c.groups.size();
  for (size_t i = 0; i < groups; ++i) add_heads(weights, plan, i, i);
  return weights;
}

}  // namespace headroom::tasks
