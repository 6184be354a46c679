#include "tasks/linear_functional.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "tasks/attention_lags.h"
#include "tasks/linear_construction.h"

namespace headroom::tasks {
namespace {

/// Divides each row of x (…, d) by its norm.
void normalise_rows(const Tensor& x) {
  const int64_t d = x.dim(-1);
  float* row = x.mutable_data<float>();
  for (int64_t i = 0; i < x.numel() / d; ++i, row += d) {
    double squares = 0;
    for (int64_t j = 0; j < d; ++j) squares += double{row[j]} * row[j];
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (int64_t j = 0; j < d; ++j) row[j] = static_cast<float>(row[j] * scale);
  }
}

}  // namespace

void validate(const LinearFunctionalConfig& config) {
  validate(config.kernel);
  require(config.token_dim >= 1, "token_dim: expected >= 1, got {}", config.token_dim);
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
  check_ranks("kernel.ranks", {config.token_dim, config.kernel.ranks});
  require(config.attention_lags >= 0 && config.attention_lags <= most_attention_lags &&
              config.attention_lags < config.length,
          "attention_lags: expected 0 to {} and below length = {}, got {}", most_attention_lags, config.length,
          config.attention_lags);
  // Before t = 1 the target is 0 everywhere: a loss over t = 0 alone has no variance to be relative to.
  require(config.first_position >= 0 && config.first_position < config.length,
          "first_position: expected 0 <= first_position < length = {}, got {}", config.length, config.first_position);
}

LinearFunctional::LinearFunctional(const LinearFunctionalConfig& config)
    : RegressionTask("linear functional", config.token_dim, config.first_position), config_(config) {
  validate(config);
  kernel_ = kernel_values(config.kernel, config.length - 1);
  require(!kernel_.empty(), "kernel: rho(s) is 0 for every s in 1..{}", config.length - 1);
  maps_.resize(kernel_.size());
  for (size_t i = 0; i < kernel_.size(); ++i) {
    const auto lag = static_cast<int64_t>(i) + 1;
    if (ranks().at(lag) == config.token_dim) continue;
    for (const double p : lag_projection(config.kernel, lag, config.token_dim).to_vector<double>())
      maps_[i].push_back(static_cast<float>(kernel_[i] * p));
  }
}

ModelInterface LinearFunctional::model_interface() const {
  return {.length = config_.length, .input_dim = config_.token_dim, .output_dim = config_.token_dim};
}

Tensor LinearFunctional::target(const Tensor& x_in) const {
  const Tensor x = tokens(x_in);  // (B, T, d)
  const int64_t length = x.dim(1), d = x.dim(2);
  Tensor y = Tensor::zeros(x.shape());  // (B, T, d)
  for (int64_t b = 0; b < x.dim(0); ++b) {
    const float* from = x.data<float>() + b * length * d;
    float* to = y.mutable_data<float>() + b * length * d;
    for (int64_t t = 1; t < length; ++t) {
      const int64_t lags = std::min<int64_t>(t, static_cast<int64_t>(kernel_.size()));
      for (int64_t s = 1; s <= lags; ++s) {
        if (const std::vector<float>& map = maps_[static_cast<size_t>(s - 1)]; !map.empty()) {
          for (int64_t j = 0; j < d; ++j)
            for (int64_t k = 0; k < d; ++k)
              to[t * d + j] += map[static_cast<size_t>(j * d + k)] * from[(t - s) * d + k];
          continue;
        }
        const float rho = static_cast<float>(kernel_[static_cast<size_t>(s - 1)]);
        for (int64_t j = 0; j < d; ++j) to[t * d + j] += rho * from[(t - s) * d + j];
      }
    }
  }
  return y;
}

Batch LinearFunctional::sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const {
  const engine::Shape shape{sequences, config_.length, config_.token_dim};
  const Tensor x = engine::random_normal(shape, rng, stream);  // (B, T, d)
  if (config_.input == TokenInput::unit) normalise_rows(x);
  return {x, target(x)};
}

Metrics LinearFunctional::probes(const models::Transformer& model, const Batch& batch) const {
  const int64_t n = config_.kernel.n, asked = config_.attention_lags;
  if (!model.config().causal || batch.input.dim(0) == 0) return {};
  const bool is_usual = config_.kernel.kind == "n-gram" && n <= most_attention_lags && n < config_.length;
  if (asked == 0) return is_usual ? attention_by_lag(model, batch, n) : Metrics{};
  Metrics metrics = attention_by_lag(model, batch, asked);
  const std::vector<HeadLags> heads = head_lags(model, batch, asked);
  metrics.merge(head_lag_metrics(heads));
  const std::vector<models::HeadGroup> groups = models::first_layer(model.config()).groups;
  if (groups.size() != 1) return metrics;
  std::vector<double> rho = kernel_;
  for (double& value : rho) value = std::abs(value);
  const Allocation plan = equal_heads(rho, groups[0].heads, groups[0].v_dim, paper_error(ranks()));
  metrics["peaks_off_plan"] = share_off_plan(heads, plan.groups, [](const HeadLags& head) { return head.peak(); });
  metrics["centres_off_plan"] = share_off_plan(heads, plan.groups, [](const HeadLags& head) { return head.centre(); });
  return metrics;
}

void LinearFunctional::construct(const models::Transformer& model, Construct what) const {
  std::vector<LagMap> target;
  for (size_t i = 0; i < kernel_.size(); ++i) {
    const auto lag = static_cast<int64_t>(i) + 1;
    if (kernel_[i] != 0) target.push_back({lag, kernel_[i], lag_projection(config_.kernel, lag, config_.token_dim)});
  }
  write_construction(model, target, config_.token_dim, what);
}

std::string LinearFunctional::describe() const {
  return fmt::format("linear functional, {}, {} {} tokens of dim {}, scored from t = {}",
                     tasks::describe(config_.kernel), config_.length,
                     config_.input == TokenInput::unit ? "unit" : "normal", config_.token_dim, config_.first_position);
}

std::set<std::string> metric_names_of(const LinearFunctionalConfig& config) {
  std::set<std::string> names = regression_metrics();
  const int64_t asked = config.attention_lags, n = config.kernel.kind == "n-gram" ? config.kernel.n : -1;
  for (int64_t lag = 0; lag <= (asked > 0 ? asked : std::min(n, most_attention_lags)); ++lag)
    names.insert(fmt::format("attention_at_lag_{}", lag));
  if (asked == 0) return names;
  for (const std::string& name : head_lag_names(asked)) names.insert(name);
  names.insert({"peaks_off_plan", "centres_off_plan"});
  return names;
}

}  // namespace headroom::tasks
