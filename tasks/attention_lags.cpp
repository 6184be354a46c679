#include "tasks/attention_lags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

/// The positions t >= last that are not padding.
struct Queries {
  int64_t length, count = 0;
  std::vector<bool> is_kept;

  Queries(const Batch& batch, int64_t last) : length(batch.input.dim(1)) {
    require(last >= 0 && last < length, "attention by lag: lags up to {} need more than {} positions", last, length);
    const int64_t sequences = batch.input.dim(0);
    is_kept.assign(static_cast<size_t>(sequences * length), true);
    if (batch.key_mask.defined())
      for (size_t i = 0; const double kept : batch.key_mask.to_vector<double>()) is_kept[i++] = kept != 0;
    for (int64_t i = 0; i < sequences * length; ++i) {
      if (i % length < last) is_kept[static_cast<size_t>(i)] = false;
      count += is_kept[static_cast<size_t>(i)] ? 1 : 0;
    }
    require(count > 0, "attention by lag: no sequence of {} has a position from {} on", sequences, last);
  }
  bool has(int64_t sequence, int64_t t) const { return is_kept[static_cast<size_t>(sequence * length + t)]; }
};

}  // namespace

std::vector<Tensor> attention_probabilities(const models::Transformer& model, const Batch& batch, int64_t begin,
                                            int64_t end) {
  require(begin >= 0 && begin < end && end <= model.config().layers,
          "attention: expected layers of 0 to {}, got {} to {}", model.config().layers - 1, begin, end - 1);
  const autograd::NoGrad no_grad;
  std::vector<Tensor> all;
  model.forward(batch.input, {.key_mask = batch.key_mask, .probabilities = &all});
  const std::vector<models::LayerConfig> shapes = models::layers_of(model.config());
  size_t from = 0, to = 0;
  for (size_t i = 0; i < static_cast<size_t>(end); ++i) {
    if (i < static_cast<size_t>(begin)) from += shapes[i].groups.size();
    to += shapes[i].groups.size();
  }
  return {all.begin() + static_cast<int64_t>(from), all.begin() + static_cast<int64_t>(to)};
}

Metrics attention_by_lag(const models::Transformer& model, const Batch& batch, int64_t last, int64_t layers) {
  require(layers >= 1 && layers <= model.config().layers, "attention by lag: expected 1 to {} layers, got {}",
          model.config().layers, layers);
  const Queries queries(batch, last);
  const int64_t length = queries.length;
  std::vector<double> sums(static_cast<size_t>(last) + 1, 0.0);
  for (const Tensor& group : attention_probabilities(model, batch, 0, layers)) {
    const int64_t heads = group.dim(1);
    const std::vector<double> p = group.to_vector<double>();
    for (int64_t row = 0; row < group.dim(0) * heads; ++row)
      for (int64_t t = last; t < length; ++t) {
        if (!queries.has(row / heads, t)) continue;
        for (int64_t s = 0; s <= last; ++s)
          sums[static_cast<size_t>(s)] += p[static_cast<size_t>((row * length + t) * length + t - s)];
      }
  }
  Metrics metrics;
  for (int64_t s = 0; s <= last; ++s)
    metrics[fmt::format("attention_at_lag_{}", s)] = sums[static_cast<size_t>(s)] / static_cast<double>(queries.count);
  return metrics;
}

int64_t HeadLags::peak() const { return std::max_element(share.begin(), share.end()) - share.begin(); }

int64_t HeadLags::centre() const { return std::llround(mean_lag); }

std::vector<HeadLags> head_lags(const models::Transformer& model, const Batch& batch, int64_t last, int64_t layer) {
  require(layer >= 0 && layer < model.config().layers, "attention by lag: expected layer 0 to {}, got {}",
          model.config().layers - 1, layer);
  const Queries queries(batch, last);
  const int64_t length = queries.length;
  std::vector<HeadLags> all;
  for (const Tensor& group : attention_probabilities(model, batch, layer, layer + 1)) {
    const int64_t heads = group.dim(1);
    const std::vector<double> p = group.to_vector<double>();
    const size_t first = all.size();
    all.resize(first + static_cast<size_t>(heads), {std::vector<double>(static_cast<size_t>(last) + 1, 0.0)});
    for (int64_t row = 0; row < group.dim(0) * heads; ++row) {
      HeadLags& head = all[first + static_cast<size_t>(row % heads)];
      for (int64_t t = last; t < length; ++t) {
        if (!queries.has(row / heads, t)) continue;
        for (int64_t s = 0; s <= t; ++s) {
          const double at = p[static_cast<size_t>((row * length + t) * length + t - s)];
          if (s <= last) head.share[static_cast<size_t>(s)] += at;
          head.mean_lag += static_cast<double>(s) * at;
        }
      }
    }
  }
  for (HeadLags& head : all) {
    for (double& share : head.share) share /= static_cast<double>(queries.count);
    head.mean_lag /= static_cast<double>(queries.count);
  }
  return all;
}

Metrics head_lag_metrics(const std::vector<HeadLags>& heads, const std::string& prefix) {
  require(!heads.empty(), "attention by lag: there are no heads");
  const auto lags = static_cast<int64_t>(heads[0].share.size());
  Metrics metrics;
  for (int64_t s = 0; s < lags; ++s) {
    double peaks = 0, centres = 0, largest = 0;
    for (const HeadLags& head : heads) {
      peaks += head.peak() == s ? 1 : 0;
      centres += head.centre() == s ? 1 : 0;
      largest = std::max(largest, head.share[static_cast<size_t>(s)]);
    }
    metrics[fmt::format("{}peaks_at_lag_{}", prefix, s)] = peaks;
    metrics[fmt::format("{}centres_at_lag_{}", prefix, s)] = centres;
    metrics[fmt::format("{}share_at_lag_{}", prefix, s)] = largest;
  }
  double sum = 0;
  for (const HeadLags& head : heads) sum += *std::max_element(head.share.begin(), head.share.end());
  metrics[prefix + "peak_share"] = sum / static_cast<double>(heads.size());
  return metrics;
}

std::vector<std::string> head_lag_names(int64_t last, const std::string& prefix) {
  std::vector<std::string> names{prefix + "peak_share"};
  for (int64_t s = 0; s <= last; ++s)
    for (const char* of : {"peaks", "centres", "share"}) names.push_back(fmt::format("{}{}_at_lag_{}", prefix, of, s));
  return names;
}

double share_off_plan(const std::vector<HeadLags>& heads, const std::vector<LagGroup>& plan,
                      const std::function<int64_t(const HeadLags&)>& lag_of) {
  std::map<int64_t, int64_t> surplus;  // heads beyond the plan's, by lag
  for (const HeadLags& head : heads) ++surplus[lag_of(head)];
  for (const LagGroup& group : plan) surplus[group.lag] -= group.heads;
  int64_t too_many = 0;
  for (const auto& [lag, count] : surplus) too_many += std::max<int64_t>(count, 0);
  return static_cast<double>(too_many) / static_cast<double>(heads.size());
}

}  // namespace headroom::tasks
