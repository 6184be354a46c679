#include "models/rope_cache.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "engine/ops/embedding/embedding.h"
#include "models/model_cache.h"
#include "models/positions.h"

namespace headroom::models {
namespace {

constexpr int64_t no_limit = std::numeric_limits<int64_t>::max();

/// The share of pair i in the frequencies that are not slowed, as yarn has it.
double yarn_share(int64_t i, int64_t dim, double base, const RopeScaling& s) {
  // The pair, as a fraction, that turns this many times within the original length.
  const auto pair_of = [&](double turns) {
    return static_cast<double>(dim) *
           std::log(static_cast<double>(s.original_length) / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
  };
  double first = pair_of(s.high), last = pair_of(s.low);
  if (s.truncate) first = std::floor(first), last = std::ceil(last);
  first = std::max(first, 0.0), last = std::min(last, static_cast<double>(dim - 1));
  if (first == last) last += 0.001;
  return 1 - std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
}

double llama3_share(double f, const RopeScaling& s) {
  const auto length = static_cast<double>(s.original_length);
  const double wavelength = 2 * std::numbers::pi / f;
  if (wavelength < length / s.high) return 1;
  if (wavelength > length / s.low) return 0;
  return (length / wavelength - s.low) / (s.high - s.low);
}

double dynamic_base(double base, int64_t dim, const RopeScaling& s, int64_t length) {
  const auto original = static_cast<double>(s.original_length), own = static_cast<double>(dim);
  if (length <= s.original_length || dim <= 2) return base;
  return base * std::pow(s.factor * static_cast<double>(length) / original - (s.factor - 1), own / (own - 2));
}

bool has_own_rope(const TransformerConfig& config, int64_t layer) {
  return config.window_rope_base > 0 && window_of(config, layer) > 0;
}

const RopeScaling& scaling_of(const TransformerConfig& config, int64_t layer) {
  return has_own_rope(config, layer) ? config.window_rope_scaling : config.rope_scaling;
}

int64_t limit_of(const RopeScaling& s) {
  const bool changes = s.kind == RopeScalingKind::longrope || s.kind == RopeScalingKind::dynamic;
  return changes ? s.original_length : no_limit;
}

}  // namespace

std::vector<double> rope_frequencies(const TransformerConfig& config, const HeadGroup& group, int64_t layer,
                                     int64_t length) {
  if (!group.rope_frequencies.empty()) return group.rope_frequencies;
  const RopeScaling& s = scaling_of(config, layer);
  double base = has_own_rope(config, layer) ? config.window_rope_base : config.rope_base;
  if (s.kind == RopeScalingKind::dynamic) base = dynamic_base(base, group.qk_dim, s, length);
  std::vector<double> out = engine::rope_frequencies(group.qk_dim, base).to_vector<double>();
  const auto slow = [&](const auto& share_of) {
    for (size_t i = 0; i < out.size(); ++i) {
      const double share = share_of(i);
      out[i] = (1 - share) * out[i] / s.factor + share * out[i];
    }
  };
  if (s.kind == RopeScalingKind::linear) slow([](size_t) { return 0.0; });
  if (s.kind == RopeScalingKind::llama3) slow([&](size_t i) { return llama3_share(out[i], s); });
  if (s.kind == RopeScalingKind::yarn)
    slow([&](size_t i) { return yarn_share(static_cast<int64_t>(i), group.qk_dim, base, s); });
  if (s.kind == RopeScalingKind::longrope)
    for (size_t i = 0; i < out.size(); ++i)
      out[i] /= (length > s.original_length ? s.long_factors : s.short_factors).at(i);
  return out;
}

int64_t rope_limit(const TransformerConfig& config) {
  if (!scheme_of(config).turns()) return no_limit;
  const int64_t most = limit_of(config.rope_scaling);
  return config.window_rope_base > 0 ? std::min(most, limit_of(config.window_rope_scaling)) : most;
}

double score_scale(const TransformerConfig& config, const HeadGroup& group, int64_t layer) {
  const double scale = config.logit_scale.value_or(1 / std::sqrt(static_cast<double>(group.qk_dim)));
  const double factor = scheme_of(config).turns() ? scaling_of(config, layer).attention_factor : 1;
  return scale * factor * factor;
}

RopeTurns::RopeTurns(Frequencies frequencies, int64_t limit, bool interleaved, engine::DType dtype)
    : frequencies_(std::move(frequencies)),
      limit_(limit),
      interleaved_(interleaved),
      dtype_(dtype),
      device_(engine::context().device) {}

engine::RopeTable RopeTurns::made(const engine::Tensor& positions, int64_t length) const {
  const std::vector<double> frequencies = frequencies_(length);
  const engine::Tensor all = engine::Tensor::from({static_cast<int64_t>(frequencies.size())}, frequencies);  // (D/2)
  const engine::RopeTable table = engine::rope_table(positions, all, interleaved_, dtype_);
  return {table.angles.to(device_), interleaved_};
}

engine::RopeTable RopeTurns::rows(int64_t begin, int64_t end, int64_t length) const {
  require(begin >= 0 && begin <= end, "rope: positions [{}, {})", begin, end);
  const std::array wanted{begin, end, std::max(end, length)};
  if (wanted[2] <= limit_) return table(end).rows(begin, end);
  const std::lock_guard lock(growing_);
  if (beyond_is_ != wanted) {
    beyond_ = made(position_indices(end).slice(0, begin, end), wanted[2]);
    engine::synchronize(device_);
    beyond_is_ = wanted;
  }
  return beyond_;
}

engine::RopeTable RopeTurns::at(const engine::Tensor& positions, int64_t end) const {
  require(end <= limit_, "rope: the frequencies of a text beyond {} tokens depend on its length", limit_);
  const engine::Tensor all = table(end).angles;  // (T, 3, D)
  const engine::Tensor rows = engine::embedding(all.reshape({all.dim(0), 3 * all.dim(2)}), positions);
  return {rows.reshape({positions.dim(0), 3, all.dim(2)}), interleaved_};
}

engine::RopeTable RopeTurns::at(const SequenceTokens& sequences) const {
  if (sequences.end <= limit_) return at(sequences.positions, sequences.end);
  std::vector<engine::Tensor> parts;
  for (size_t i = 0; i < sequences.rows.size(); ++i) {
    const SequenceRows& own = sequences.rows[i];
    parts.push_back(rows(sequences.first[i], sequences.first[i] + own.end - own.begin).angles);
  }
  return {engine::concat(parts, 0), interleaved_};  // (T, 3, D)
}

engine::RopeTable RopeTurns::table(int64_t end) const {
  const std::lock_guard lock(growing_);
  const int64_t have = tables_.empty() ? -1 : tables_.back().angles.dim(0);
  // Doubled, as decoding asks for one more position each time.
  if (have < end) {
    tables_.push_back(made(position_indices(have < 0 ? end : std::max(end, 2 * have)), 0));
    // Others read it on streams of their own, which wait for nothing of this one.
    engine::synchronize(device_);
  }
  return tables_.back();
}

std::shared_ptr<const RopeTurns> RopeCache::turns_of(const TransformerConfig& config, const HeadGroup& group,
                                                     int64_t layer) {
  // Lists that are alike in short texts and in long ones are one.
  const int64_t limit = group.rope_frequencies.empty() ? limit_of(scaling_of(config, layer)) : no_limit;
  std::vector<double> key = rope_frequencies(config, group, layer);
  if (limit < no_limit)
    for (const double f : rope_frequencies(config, group, layer, limit + 1)) key.push_back(f);
  std::shared_ptr<const RopeTurns>& turns = turns_[key];
  if (!turns)
    turns = std::make_shared<const RopeTurns>(
        [config, group, layer](int64_t length) { return rope_frequencies(config, group, layer, length); }, limit,
        interleaved_, dtype_);
  return turns;
}

}  // namespace headroom::models
