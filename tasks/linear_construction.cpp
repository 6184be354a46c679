#include "tasks/linear_construction.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/error.h"
#include "models/positions.h"
#include "tasks/theory/constructive/fetch.h"
#include "tasks/theory/float_error.h"

namespace headroom::tasks {
namespace {

/// Between the roundoffs of bf16 (2^-8: nothing beyond lag 1 is fetched) and f32 (2^-24: coefficients are thousands,
/// and the first steps of training ruin what they cancel to).
constexpr double start_roundoff = 0x1p-14;
constexpr int64_t most_sums = 16;  ///< beyond these rounding outweighs what another sum adds

/// Nodes x_k and, for each term of the target, the amplitudes α_k.
struct Sums {
  std::vector<double> nodes;
  std::vector<std::vector<double>> amplitudes;
};

/// The best Chebyshev nodes of up to n that all lags share, by Σ weight·(l1 + ε·gain).
Sums best_sums(const std::vector<LagMap>& target, int64_t n) {
  std::vector<int64_t> lags;
  for (const LagMap& term : target) lags.push_back(term.lag);
  Sums best;
  double least = INFINITY;
  for (int64_t count = 1; count <= std::min(n, most_sums); ++count) {
    const double scale = best_scale(lags, count, start_roundoff, false);
    Sums sums;
    double cost = 0;
    for (const LagMap& term : target) {
      const Fetch fetch = chebyshev_fetch(term.lag, count, scale);
      sums.nodes = fetch.sum.nodes;
      sums.amplitudes.push_back(fetch.sum.amplitudes);
      cost += std::abs(term.weight) * (fetch.sum.l1 + start_roundoff * fetch.sum.gain);
    }
    if (cost >= least) continue;
    least = cost;
    best = std::move(sums);
  }
  return best;
}

/// A parameter's values, to be changed: f(row-major values, columns).
void rewrite(const models::Transformer& model, const std::string& name,
             const std::function<void(std::vector<double>&, int64_t)>& f) {
  for (const models::Parameter& parameter : model.parameters()) {
    if (parameter.name != name) continue;
    const engine::Tensor& value = parameter.var.value();
    std::vector<double> values = value.to_vector<double>();
    f(values, value.dim(-1));
    engine::copy_inplace(value,
                         engine::Tensor::from<double>(value.shape(), values).to(value.dtype()).to(value.device()));
    return;
  }
  fail("construction: the model has no '{}': it needs a whole matrix there", name);
}

void clear(const models::Transformer& model, const std::string& name) {
  rewrite(model, name, [](std::vector<double>& values, int64_t) { std::fill(values.begin(), values.end(), 0.0); });
}

void check(const models::TransformerConfig& c, int64_t d, Construct what) {
  require(c.causal && models::scheme_of(c).acts_on == models::ActsOn::scores,
          "construction: expected a causal model with ALiBi, got {}", models::name_of(c.positions));
  const models::LayerConfig layer = models::first_layer(c);
  require(c.layers == 1 && layer.groups.size() == 1, "construction: expected one layer of heads of one shape");
  const int64_t v = layer.groups[0].v_dim;
  require(v >= d || d % v == 0,
          "construction: expected values of a width that divides d = {}, or of at least {}, got {}", d, d, v);
  if (what == Construct::slopes) return;
  require(c.norm == models::Norm::none && layer.ffn_width == 0 && c.readout_width == 0,
          "construction: expected norm = none, no feed-forward network and a readout of one layer");
  require(layer.groups[0].key_value_heads() == layer.groups[0].heads,
          "construction: expected a value of each head's own");
  require(c.width >= 2 * d, "construction: a width of {} does not hold the token and its target, 2·{}", c.width, d);
}

}  // namespace

void write_construction(const models::Transformer& model, const std::vector<LagMap>& target, int64_t token_dim,
                        Construct what) {
  const models::TransformerConfig& config = model.config();
  const int64_t d = token_dim;
  check(config, d, what);
  const models::HeadGroup group = models::first_layer(config).groups[0];
  const int64_t used = std::min(group.v_dim, d), blocks = d / used, sums_there = group.heads / blocks;
  require(sums_there >= 1, "construction: {} heads of width {} do not read all {} coordinates", group.heads,
          group.v_dim, d);
  const Sums sums = best_sums(target, sums_there);
  const auto count = static_cast<int64_t>(sums.nodes.size());
  const auto node_of = [&](int64_t head) { return sums.nodes[static_cast<size_t>(head / blocks % count)]; };
  const std::string attention = "blocks.0.attention.", heads = attention + "0.";
  rewrite(model, heads + "log_slopes", [&](std::vector<double>& values, int64_t) {
    for (int64_t h = 0; h < group.heads; ++h) values[static_cast<size_t>(h)] = std::log(-std::log(node_of(h)));
  });
  if (what == Construct::slopes) return;
  rewrite(model, "input.weight", [&](std::vector<double>& w, int64_t columns) {  // (D, d)
    for (int64_t i = 0; i < 2 * d; ++i)
      for (int64_t j = 0; j < columns; ++j) w[static_cast<size_t>(i * columns + j)] = i == j ? 1 : 0;
  });
  clear(model, "input.bias");
  clear(model, heads + "q_proj.weight");
  rewrite(model, heads + "v_proj.weight", [&](std::vector<double>& w, int64_t columns) {  // (H·d_v, D)
    std::fill(w.begin(), w.end(), 0.0);
    for (int64_t h = 0; h < group.heads; ++h)
      for (int64_t j = 0; j < used; ++j)
        w[static_cast<size_t>((h * group.v_dim + j) * columns + h % blocks * used + j)] = 1 / (1 - node_of(h));
  });
  rewrite(model, attention + "o_proj.weight", [&](std::vector<double>& w, int64_t columns) {  // (D, H·d_v)
    for (int64_t i = d; i < 2 * d; ++i)
      for (int64_t c = 0; c < columns; ++c) w[static_cast<size_t>(i * columns + c)] = 0;
    for (size_t m = 0; m < target.size(); ++m) {
      std::vector<double> map;
      if (target[m].projection.defined()) map = target[m].projection.to_vector<double>();
      for (int64_t h = 0; h < std::min(group.heads, count * blocks); ++h)
        for (int64_t i = 0; i < d; ++i)
          for (int64_t j = 0; j < used; ++j) {
            const int64_t from = h % blocks * used + j;
            const double p = map.empty() ? (i == from ? 1 : 0) : map[static_cast<size_t>(i * d + from)];
            w[static_cast<size_t>((d + i) * columns + h * group.v_dim + j)] +=
                target[m].weight * sums.amplitudes[m][static_cast<size_t>(h / blocks)] * p;
          }
    }
  });
  rewrite(model, "readout.weight", [&](std::vector<double>& w, int64_t columns) {  // (d, D)
    std::fill(w.begin(), w.end(), 0.0);
    for (int64_t i = 0; i < d; ++i) w[static_cast<size_t>(i * columns + d + i)] = 1;
  });
  if (config.readout_bias) clear(model, "readout.bias");
  const models::AttentionBiases biases = models::attention_biases(config);
  if (biases.q) clear(model, heads + "q_proj.bias");
  if (biases.v) clear(model, heads + "v_proj.bias");
  if (biases.o) clear(model, attention + "o_proj.bias");
}

}  // namespace headroom::tasks
