#include "tasks/measure/head_measurements.h"

#include <algorithm>
#include <cmath>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/rope/rope.h"
#include "models/positions.h"
#include "tasks/theory/low_rank_logits.h"
#include "tasks/theory/softmax_jacobian.h"

namespace headroom::tasks {
namespace {

using engine::Tensor;

constexpr double no_rank = 1e-12;  ///< of the first singular value: smaller ones count as 0

template <class Config>
void check_common(const Config& config) {
  validate(config.head);
  require(config.length >= 1 && config.length <= 8192, "length: expected 1..8192, got {}", config.length);
  require(config.token_norm > 0 && std::isfinite(config.token_norm), "token_norm: expected > 0, got {}",
          config.token_norm);
  require(config.tokens != HeadTokens::embedding || !config.head.run.empty(),
          "tokens: {} has no embedding; expected one that a study trained",
          config.head.is_of_files() ? "a head of files" : "a random head");
  require(config.tokens != HeadTokens::embedding || config.head.layer == 0,
          "tokens: the embedding feeds layer 0, not layer {}", config.head.layer);
  require(config.tokens != HeadTokens::activations || config.head.is_of_files(),
          "tokens: activations are those of a model of files");
}

/// A trained head has the slope that its model learned.
void check_slope(double slope, const HeadSource& head) {
  require(slope >= 0 && std::isfinite(slope), "alibi_slope: expected >= 0, got {}", slope);
  require(slope == 0 || head.is_drawn(), "alibi_slope: a trained head has its model's own; expected 0, got {}", slope);
}

void check_rank(int64_t rank, const HeadSource& head) {
  require(rank >= 1, "rank: expected >= 1, got {}", rank);
  require(!head.is_drawn() || rank < head.head_dim, "rank: expected less than the head's width {}, got {}",
          head.head_dim, rank);
}

double log10_of(double ln) { return ln / std::log(10); }

void require_causal(const HeadMaps& maps, const HeadLoader& head) {
  require(maps.is_causal, "softmax-bound: {} was trained without a causal mask; the theorem's queries look back",
          head.name());
}

/// Queries or keys (L, d_H) of tokens (D, L), turned where the head has rotary positions.
Tensor projected(const HeadMaps& maps, const Tensor& map, const Tensor& tokens) {
  const Tensor x = engine::matmul(tokens, map, true, true);  // (L, d_H)
  if (!maps.rope_base) return x;
  const int64_t length = x.dim(0), dim = x.dim(1);
  const Tensor turned = x.reshape({1, length, 1, dim}), positions = models::position_indices(length);
  if (maps.rope_frequencies.empty())
    return engine::rope(turned, positions, *maps.rope_base, maps.rope_interleaved).reshape({length, dim});
  const Tensor frequencies = Tensor::from({dim / 2}, maps.rope_frequencies);  // (d_H/2)
  return engine::rope(turned, engine::rope_table(positions, frequencies, maps.rope_interleaved, engine::DType::f64))
      .reshape({length, dim});
}

}  // namespace

void validate(const SoftmaxBoundConfig& config) {
  check_common(config);
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
  check_slope(config.alibi_slope, config.head);
}

void validate(const SvdBoundConfig& config) {
  check_common(config);
  check_rank(config.rank, config.head);
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
  check_slope(config.alibi_slope, config.head);
  require(config.late >= 0 && config.late < 1, "late: expected [0, 1), got {}", config.late);
}

void validate(const RopeBoundConfig& config) {
  check_common(config);
  check_rank(config.rank, config.head);
  require(config.length <= 512, "length: expected at most 512 (every pair of positions is looked at), got {}",
          config.length);
  require(config.base > 0 && std::isfinite(config.base), "base: expected > 0, got {}", config.base);
}

void SoftmaxBound::check() const {
  if (!config_.head.run.empty()) require_causal(studied(0).maps, loader_);
}

Metrics SoftmaxBound::compute(uint64_t seed) const {
  const StudiedHead head = studied(seed);
  const HeadMaps& maps = head.maps;
  require_causal(maps, loader_);
  const int64_t length = config_.length;
  const double slope = config_.alibi_slope + maps.alibi_slope;
  const engine::ReferenceScope truth;  // what the bound is held against
  const Tensor q = projected(maps, maps.wq, head.tokens), k = projected(maps, maps.wk, head.tokens);  // (L, d_H)
  const Tensor z = engine::matmul(q, k, false, true);                                                 // (L, L)
  const double delta = maps.scale * spectral_norm(maps.wq) * spectral_norm(maps.wk) * head.norm * head.norm +
                       slope * static_cast<double>(length - 1);
  require(std::isfinite(delta), "softmax-bound: Delta is {}; maps and tokens are too large", delta);
  Metrics metrics{{"violations", 0}, {"log10_tightest", INFINITY}, {"delta", delta}, {"largest_logit", 0}};
  for (int64_t l = 0; l < length; ++l) {
    engine::check_stopped();
    std::vector<double> logits;
    for (int64_t j = 0; j <= l; ++j)
      logits.push_back(maps.scale * z.data<double>()[l * length + j] - slope * static_cast<double>(l - j));
    const SoftmaxJacobian jacobian = softmax_jacobian(logits);
    metrics["largest_logit"] = std::max(metrics["largest_logit"], jacobian.delta);
    metrics["violations"] += broken_inequalities(jacobian, delta, l + 1);
    if (l == 0) continue;  // one key: the norm is 0
    const double paper = log10_of(ln_softmax_bound(delta, l + 1) - jacobian.ln_norm);
    metrics["log10_tightest"] = std::min(metrics["log10_tightest"], paper);
    if (l + 1 < length) continue;
    metrics["jacobian_norm"] = jacobian.norm;
    metrics["scaled_norm"] = jacobian.norm * static_cast<double>(length);
    metrics["log10_paper"] = paper;
    metrics["log10_sharp"] = paper - std::log10(2);
    metrics["log10_spread"] = log10_of(jacobian.ln_spread - jacobian.ln_norm);
    if (jacobian.gershgorin > 0)
      metrics["log10_gershgorin"] = std::log10(jacobian.gershgorin) - log10_of(jacobian.ln_norm);
  }
  return metrics;
}

std::string SoftmaxBound::describe() const {
  return fmt::format("softmax's Jacobian, {}, {} tokens", loader_.name(), config_.length);
}

void SvdBound::check() const {
  if (!config_.head.run.empty()) check_low_rank(studied(0).maps, config_.rank);
}

Metrics SvdBound::compute(uint64_t seed) const {
  const StudiedHead head = studied(seed);
  const LowRankErrors errors =
      low_rank_errors(head.maps, head.tokens, config_.rank, config_.alibi_slope + head.maps.alibi_slope);
  require(errors.sigma_next > no_rank * errors.sigma_first,
          "rank: W_Qᵀ W_K of {} has rank {} at most, to rounding: there is nothing to cut off", loader_.name(),
          config_.rank);
  Metrics metrics{{"violations", 0}, {"log10_paper", INFINITY}, {"log10_sharp", INFINITY}};
  double square = 0, queries = 0;
  for (size_t l = 1; l < errors.error.size(); ++l) {  // query 1 has one key: no error
    const double ln_error = std::log(std::max(errors.error[l], 1e-300));
    metrics["violations"] += ln_error > errors.ln_paper[l] ? 1 : 0;
    metrics["violations"] += ln_error > errors.ln_sharp[l] ? 1 : 0;
    metrics["log10_paper"] = std::min(metrics["log10_paper"], log10_of(errors.ln_paper[l] - ln_error));
    metrics["log10_sharp"] = std::min(metrics["log10_sharp"], log10_of(errors.ln_sharp[l] - ln_error));
    if (static_cast<double>(l + 1) < config_.late * static_cast<double>(config_.length)) continue;
    square += errors.error[l] * errors.error[l];
    ++queries;
  }
  metrics["query_error"] = errors.error.back();
  metrics["late_frobenius"] = std::sqrt(square);
  metrics["late_rms"] = std::sqrt(square / queries);
  metrics["log10_ratio"] = log10_of(errors.ln_paper.back() - errors.ln_sharp.back());
  metrics["sigma_next"] = errors.sigma_next;
  return metrics;
}

std::string SvdBound::describe() const {
  return fmt::format("logits of rank {}, {}, {} tokens", config_.rank, loader_.name(), config_.length);
}

void RopeBound::check() const {
  if (config_.head.run.empty()) return;
  const int64_t width = studied(0).maps.wq.dim(0);
  require(config_.rank < width, "rank: expected less than the head's width {}, got {}", width, config_.rank);
}

Metrics RopeBound::compute(uint64_t seed) const {
  const StudiedHead head = studied(seed);
  const std::optional<double> own = head.maps.rope_base;
  const Pairing pairing = !own                         ? config_.pairing
                          : head.maps.rope_interleaved ? Pairing::interleaved
                                                       : Pairing::half_split;
  const RopeErrors errors = rope_errors(head.maps, head.tokens, config_.rank, pairing, own.value_or(config_.base));
  require(errors.bound > no_rank * spectral_norm(head.maps.wq) * spectral_norm(head.maps.wk),
          "rank: W_Q and W_K of {} have rank {} at most, to rounding: there is nothing to cut off", loader_.name(),
          config_.rank);
  Metrics metrics{{"map_error", errors.spectral},
                  {"map_bound", errors.bound},
                  {"logit_error", errors.logit},
                  {"logit_bound", errors.logit_bound},
                  {"tightness", errors.bound / errors.spectral},
                  {"logit_tightness", errors.logit_bound / errors.logit},
                  {"least_error", errors.least},
                  {"rank_excess", static_cast<double>(std::max<int64_t>(0, errors.rank - config_.rank))}};
  if (config_.rank % 2 != 0) return metrics;
  metrics["pairs_error"] = errors.pairs;
  metrics["mixed_error"] = errors.mixed;
  return metrics;
}

std::string RopeBound::describe() const {
  return fmt::format("rotary maps of rank {}, {}", config_.rank, loader_.name());
}

std::set<std::string> metric_names_of(const SoftmaxBoundConfig&) {
  return {"violations",  "log10_tightest", "delta",       "largest_logit", "jacobian_norm",
          "scaled_norm", "log10_paper",    "log10_sharp", "log10_spread",  "log10_gershgorin"};
}

std::set<std::string> metric_names_of(const SvdBoundConfig&) {
  return {"violations",     "log10_paper", "log10_sharp", "query_error",
          "late_frobenius", "late_rms",    "log10_ratio", "sigma_next"};
}

std::set<std::string> metric_names_of(const RopeBoundConfig& config) {
  std::set<std::string> names{"map_error", "map_bound",       "logit_error", "logit_bound",
                              "tightness", "logit_tightness", "least_error", "rank_excess"};
  if (config.rank % 2 == 0) names.insert({"pairs_error", "mixed_error"});
  return names;
}

}  // namespace headroom::tasks
