#include "models/rope_cache.h"

#include <algorithm>
#include <numbers>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/error.h"
#include "engine/ops/embedding/embedding.h"
#include "models/positions.h"

namespace headroom::models {
namespace {

double scaled(double f, const RopeScaling& s) {
  if (s.kind == RopeScalingKind::none) return f;
  if (s.kind == RopeScalingKind::linear) return f / s.factor;
  const auto length = static_cast<double>(s.original_length);
  const double wavelength = 2 * std::numbers::pi / f;
  if (wavelength < length / s.high) return f;
  if (wavelength > length / s.low) return f / s.factor;
  const double share = (length / wavelength - s.low) / (s.high - s.low);
  return (1 - share) * f / s.factor + share * f;
}

}  // namespace

std::vector<double> rope_frequencies(const TransformerConfig& config, const HeadGroup& group, int64_t layer) {
  if (!group.rope_frequencies.empty()) return group.rope_frequencies;
  if (config.window_rope_base > 0 && window_of(config, layer) > 0)
    return engine::rope_frequencies(group.qk_dim, config.window_rope_base).to_vector<double>();
  std::vector<double> frequencies = engine::rope_frequencies(group.qk_dim, config.rope_base).to_vector<double>();
  for (double& f : frequencies) f = scaled(f, config.rope_scaling);
  return frequencies;
}

RopeTurns::RopeTurns(const std::vector<double>& frequencies, bool interleaved, engine::DType dtype)
    : frequencies_(engine::Tensor::from({static_cast<int64_t>(frequencies.size())}, frequencies)),
      interleaved_(interleaved),
      dtype_(dtype),
      device_(engine::context().device) {}

engine::RopeTable RopeTurns::rows(int64_t begin, int64_t end) const {
  require(begin >= 0 && begin <= end, "rope: positions [{}, {})", begin, end);
  return table(end).rows(begin, end);
}

engine::RopeTable RopeTurns::at(const engine::Tensor& positions, int64_t end) const {
  const Tensor all = table(end).angles;  // (T, 3, D)
  const Tensor rows = engine::embedding(all.reshape({all.dim(0), 3 * all.dim(2)}), positions);
  return {rows.reshape({positions.dim(0), 3, all.dim(2)}), interleaved_};
}

engine::RopeTable RopeTurns::table(int64_t end) const {
  const std::lock_guard lock(growing_);
  const int64_t have = tables_.empty() ? -1 : tables_.back().angles.dim(0);
  // Doubled, as decoding asks for one more position each time.
  if (have < end) {
    const Tensor positions = position_indices(have < 0 ? end : std::max(end, 2 * have));  // (T)
    const engine::RopeTable grown = engine::rope_table(positions, frequencies_, interleaved_, dtype_);
    tables_.push_back({grown.angles.to(device_), grown.interleaved});
    // Others read it on streams of their own, which wait for nothing of this one.
    engine::synchronize(device_);
  }
  return tables_.back();
}

std::shared_ptr<const RopeTurns> RopeCache::turns_of(const std::vector<double>& frequencies) {
  std::shared_ptr<const RopeTurns>& turns = turns_[frequencies];
  if (!turns) turns = std::make_shared<const RopeTurns>(frequencies, interleaved_, dtype_);
  return turns;
}

}  // namespace headroom::models
