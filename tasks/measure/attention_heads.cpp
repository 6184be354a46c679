#include "tasks/measure/attention_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

/// 0-based.
int64_t position_of(const AttentionHeadsConfig& config, int64_t length) {
  if (config.at == StudiedQuery::numbered) return config.query - 1;
  return config.at == StudiedQuery::last ? length - 1 : length / 2;
}

/// How many heads put more than `share` on the first token.
double sinks_above(const HeadValues& sink, double share) {
  return static_cast<double>(
      std::count_if(sink.values.begin(), sink.values.end(), [&](double mass) { return mass > share; }));
}

void add_sinks(Metrics& metrics, const HeadValues& sink, const HeadValues& norm) {
  metrics["sink_heads"] = sinks_above(sink, 0.5);
  metrics["strong_sink_heads"] = sinks_above(sink, 0.9);
  std::vector<double> of_sinks, of_others;
  for (size_t h = 0; h < sink.values.size(); ++h)
    (sink.values[h] > 0.5 ? of_sinks : of_others).push_back(norm.values[h]);
  if (!of_sinks.empty()) metrics["sink_scaled_norm"] = quantile(of_sinks, 0.5);
  if (!of_others.empty()) metrics["other_scaled_norm"] = quantile(of_others, 0.5);
}

}  // namespace

void validate(const AttentionHeadsConfig& config) {
  validate(config.model);
  validate(config.text);
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
  require(config.at != StudiedQuery::numbered || (config.query >= 1 && config.query <= config.length),
          "query: expected 1..length = {}, got {}", config.length, config.query);
  require(config.spans >= 1, "average: expected >= 1, got {}", config.spans);
  require(config.layer >= 0 && config.head >= 0, "layer, index: expected >= 0, got {} and {}", config.layer,
          config.head);
  if (config.trend.empty()) return;
  const auto& known = head_measures();
  require(std::find(known.begin(), known.end(), config.trend) != known.end(), "trend: {} is not measured; known: {}",
          config.trend, fmt::join(known, ", "));
  const int64_t last = config.at == StudiedQuery::numbered ? config.query : config.length;
  require(config.from >= 2 && 2 * config.from <= last,
          "trend.from: expected 2..{}, half of where the trend ends, got {}", last / 2, config.from);
  require(config.band_low < config.band_high, "trend.low: expected less than trend.high, got {} and {}",
          config.band_low, config.band_high);
}

void AttentionHeads::check() const {
  const models::TransformerConfig& own = model().description().config;
  const int64_t heads = heads_per_layer(own);
  require(config_.layer < own.layers && config_.head < heads,
          "{}: has {} layers of {} heads, there is no head {} of {}", config_.model.model, own.layers, heads,
          config_.head, config_.layer);
  model().span(config_.text, config_.length, 0);
}

std::vector<AttentionProbe> AttentionHeads::probes(uint64_t seed, int64_t length, int64_t position) const {
  std::vector<AttentionProbe> out;
  const int64_t first = static_cast<int64_t>(seed) * config_.spans;
  for (int64_t i = first; i < first + config_.spans; ++i)
    out.push_back(model().probe(config_.text, length, i, position));
  return out;
}

void AttentionHeads::add_own_trend(Metrics& metrics, uint64_t seed) const {
  const models::TransformerConfig& own = model().description().config;
  const bool over_queries = config_.at == StudiedQuery::numbered;
  HeadTrend trend{{}, {}, config_.band_low, config_.band_high};
  for (int64_t x = config_.from; x <= (over_queries ? config_.query : config_.length); x *= 2) {
    const int64_t length = over_queries ? config_.length : x;
    const int64_t position = over_queries ? x - 1 : position_of(config_, x);
    trend.x.push_back(static_cast<double>(x));
    trend.at.push_back(
        head_values(config_.trend, probes(seed, length, position), own.layers, heads_per_layer(own), position + 1));
  }
  add_trend(metrics, trend, config_.layer, config_.head);
}

Metrics AttentionHeads::compute(uint64_t seed) const {
  check();
  const models::TransformerConfig& own = model().description().config;
  const int64_t heads = heads_per_layer(own), position = position_of(config_, config_.length);
  const std::vector<AttentionProbe> all = probes(seed, config_.length, position);
  Metrics metrics;
  const auto values = [&](const std::string& measure) {
    return head_values(measure, all, own.layers, heads, position + 1);
  };
  for (const std::string& measure : head_measures()) add_summary(metrics, values(measure), config_.layer, config_.head);
  double violations = 0;
  for (const AttentionProbe& probe : all)
    for (int64_t layer = 0; layer < own.layers; ++layer)
      for (int64_t head = 0; head < heads; ++head) violations += probe.at(layer, head, 0).violations;
  metrics["violations"] = violations;
  add_sinks(metrics, values("sink_mass"), values("scaled_norm"));
  if (!config_.trend.empty()) add_own_trend(metrics, seed);
  return metrics;
}

std::string AttentionHeads::describe() const {
  return fmt::format("attention of all heads of {}{}, {} tokens of {}", config_.model.model,
                     config_.model.is_random ? " with random weights" : "", config_.length, config_.text.text);
}

std::vector<std::string> attention_metrics() {
  std::vector<std::string> names = summary_names();
  names.insert(names.end(), {"violations", "sink_heads", "strong_sink_heads", "sink_scaled_norm", "other_scaled_norm"});
  const std::vector<std::string> trend = trend_names();
  names.insert(names.end(), trend.begin(), trend.end());
  return names;
}

std::set<std::string> metric_names_of(const AttentionHeadsConfig& config) {
  const std::vector<std::string> all = attention_metrics();
  std::set<std::string> names(all.begin(), all.end());
  if (config.trend.empty())
    for (const std::string& name : trend_names()) names.erase(name);
  return names;
}

}  // namespace headroom::tasks
