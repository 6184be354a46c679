#include "tasks/measure/attention_probe.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/error.h"
#include "engine/parallel.h"
#include "models/positions.h"
#include "tasks/theory/softmax_jacobian.h"

namespace headroom::tasks {
namespace {

/// scale · q·k for all keys of a text: q and k are f32 or f64 (1, T, H, d).
std::vector<double> logits_of(const Tensor& q, const Tensor& k, int64_t position, int64_t head, int64_t key_head,
                              double scale) {
  const int64_t length = k.dim(1), key_heads = k.dim(2), heads = q.dim(2), dim = q.dim(3);
  std::vector<double> logits(static_cast<size_t>(length));
  const auto* query = q.data<double>() + (position * heads + head) * dim;
  for (int64_t j = 0; j < length; ++j) {
    const auto* key = k.data<double>() + (j * key_heads + key_head) * dim;
    double sum = 0;
    for (int64_t i = 0; i < dim; ++i) sum += query[i] * key[i];
    logits[static_cast<size_t>(j)] = scale * sum;
  }
  return logits;
}

double root_mean_square(const std::vector<double>& z) {
  double sum = 0;
  for (const double x : z) sum += x * x;
  return std::sqrt(sum / static_cast<double>(z.size()));
}

/// `all`: of every key; the query at `position` sees those up to itself, the last `window` of them where it is not 0.
QueryMeasures measures_of(const std::vector<double>& all, int64_t position, int64_t window) {
  const int64_t first = window > 0 ? std::max<int64_t>(0, position + 1 - window) : 0;
  const std::vector<double> seen(all.begin() + first, all.begin() + position + 1);
  const auto count = static_cast<double>(seen.size());
  const SoftmaxJacobian jacobian = softmax_jacobian(seen);
  QueryMeasures m;
  m.jacobian_norm = jacobian.norm;
  m.entropy = jacobian.entropy;
  m.sink_mass = first == 0 ? jacobian.first : 0;
  m.largest = jacobian.largest;
  m.largest_logit = jacobian.delta;
  m.logits_rms = root_mean_square(seen);
  m.logits_rms_all = root_mean_square(all);
  m.violations = broken_inequalities(jacobian, jacobian.delta, std::ssize(seen));
  if (seen.size() > 1) {
    m.log10_paper = (jacobian.ln_paper - jacobian.ln_norm) / std::numbers::ln10;
    m.log10_spread = (jacobian.ln_spread - jacobian.ln_norm) / std::numbers::ln10;
  }
  double mean = 0, spread = 0;
  for (const double z : seen) mean += z / count;
  for (const double z : seen) spread += (z - mean) * (z - mean);
  m.logits_deviation = std::sqrt(spread / count);
  return m;
}

}  // namespace

int64_t heads_per_layer(const models::TransformerConfig& config) {
  int64_t heads = 0;
  models::for_each_layer(config, [&](const models::LayerConfig& layer, int64_t) {
    const int64_t own = layer.heads();
    require(heads == 0 || own == heads, "probe: layers have {} and {} heads; expected equal ones", heads, own);
    heads = own;
  });
  return heads;
}

void require_probed(const models::TransformerConfig& config) {
  require(config.causal, "probe: the model is not causal");
  require(models::scheme_of(config).has_plain_scores(), "probe: scores with ALiBi's biases are not probed");
}

std::vector<QueryMeasures> query_measures(const models::AttentionInputs& in, const std::vector<int64_t>& positions) {
  const auto wide = [](const Tensor& x) { return x.to(engine::cpu).to(engine::DType::f64).contiguous(); };
  const Tensor q = wide(in.q.value()), k = wide(in.k.value());
  const int64_t heads = q.dim(2), shared = heads / k.dim(2), queries = static_cast<int64_t>(positions.size());
  std::vector<QueryMeasures> measures(static_cast<size_t>(heads * queries));
  engine::parallel_ranges(heads * queries, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / queries, position = positions[static_cast<size_t>(i % queries)];
      measures[static_cast<size_t>(i)] =
          measures_of(logits_of(q, k, position, head, head / shared, *in.options.scale), position, in.options.window);
    }
  });
  return measures;
}

std::vector<AttentionProbe> probe_attention(const models::Transformer& model, const TokenBatch& texts,
                                            const std::vector<int64_t>& positions) {
  const models::TransformerConfig& config = model.config();
  require_probed(config);
  for (const std::vector<int64_t>& text : texts)
    for (const int64_t position : positions)
      require(position >= 0 && position < static_cast<int64_t>(text.size()), "probe: query {} of a text of {} tokens",
              position, text.size());
  const int64_t heads = heads_per_layer(config), queries = static_cast<int64_t>(positions.size());
  std::vector<AttentionProbe> probes;
  for (size_t i = 0; i < texts.size(); ++i) probes.emplace_back(config.layers, heads, queries);
  for (size_t text = 0; text < texts.size(); ++text) {
    int64_t first_head = 0;  // of the group that is observed
    models::ForwardContext context;
    context.observer = [&](const models::AttentionInputs& in) {
      if (in.group == 0) first_head = 0;
      const std::vector<QueryMeasures> measures = query_measures(in, positions);
      const int64_t own = in.q.dim(2);
      for (int64_t i = 0; i < own * queries; ++i)
        probes[text].at(static_cast<int64_t>(in.layer), first_head + i / queries, i % queries) =
            measures[static_cast<size_t>(i)];
      first_head += own;
    };
    hidden_states(model, {texts[text]}, context);
  }
  return probes;
}

}  // namespace headroom::tasks
