#include "tasks/theory/head_studies.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/ops/matmul/matmul.h"
#include "tasks/theory/low_rank_logits.h"
#include "tasks/theory/softmax_jacobian.h"

namespace headroom::tasks {
namespace {

using engine::Tensor;

constexpr double rounding = 1e-12;  ///< relative: inequalities that are equalities for some logits

template <class Config>
void check_common(const Config& config) {
  validate(config.head);
  require(config.length >= 1 && config.length <= 8192, "length: wants 1..8192, got {}", config.length);
  require(config.token_norm > 0 && std::isfinite(config.token_norm), "token_norm: wants > 0, got {}",
          config.token_norm);
}

void check_rank(int64_t rank, const HeadSource& head) {
  require(rank >= 1, "rank: wants >= 1, got {}", rank);
  require(!head.run.empty() || rank < head.head_dim, "rank: wants less than the head's width {}, got {}", head.head_dim,
          rank);
}

double log10_of(double ln) { return ln / std::log(10); }

std::string name_of(const HeadSource& head) {
  if (head.run.empty()) return fmt::format("a random head of width {} in {}", head.head_dim, head.width);
  return fmt::format("head {} of layer {} of {}", head.head, head.layer, head.run);
}

/// The inequalities of one query that fail. `delta`: the theorem's.
int failures(const SoftmaxJacobian& j, double delta, int64_t keys) {
  const double ln_keys = std::log(static_cast<double>(keys));
  const auto at_most = [](double ln, double ln_bound) {
    return ln <= ln_bound + rounding * std::max(1.0, std::abs(ln_bound));
  };
  int failed = at_most(j.ln_norm, ln_softmax_bound(delta, keys)) ? 0 : 1;
  failed += at_most(j.ln_norm, 2 * delta - ln_keys) ? 0 : 1;
  failed += at_most(j.ln_norm, j.ln_spread) ? 0 : 1;
  failed += j.gershgorin == 0 || at_most(j.ln_norm, std::log(j.gershgorin)) ? 0 : 1;  // 0: below every double
  failed += at_most(j.ln_norm, std::log(0.5)) ? 0 : 1;
  failed += keys == 1 || (j.norm <= j.largest * (1 + rounding) && j.norm >= j.second * (1 - rounding)) ? 0 : 1;
  failed += at_most(std::log(j.largest), 2 * delta - ln_keys) ? 0 : 1;
  failed += at_most(-2 * delta - ln_keys, j.ln_smallest) ? 0 : 1;
  failed += j.row_sum <= rounding ? 0 : 1;
  return failed;
}

}  // namespace

void validate(const SoftmaxBoundConfig& config) {
  check_common(config);
  require(config.length >= 2, "length: wants >= 2, got {}", config.length);
  require(config.alibi_slope >= 0 && std::isfinite(config.alibi_slope), "alibi_slope: wants >= 0, got {}",
          config.alibi_slope);
}

void validate(const SvdBoundConfig& config) {
  check_common(config);
  check_rank(config.rank, config.head);
  require(config.length >= 2, "length: wants >= 2, got {}", config.length);
  require(config.alibi_slope >= 0 && std::isfinite(config.alibi_slope), "alibi_slope: wants >= 0, got {}",
          config.alibi_slope);
  require(config.late >= 0 && config.late < 1, "late: wants [0, 1), got {}", config.late);
}

void validate(const RopeBoundConfig& config) {
  check_common(config);
  check_rank(config.rank, config.head);
  require(config.length <= 512, "length: wants at most 512 (every pair of positions is looked at), got {}",
          config.length);
  require(config.base > 0 && std::isfinite(config.base), "base: wants > 0, got {}", config.base);
}

SoftmaxBound::SoftmaxBound(const SoftmaxBoundConfig& config) : config_(config) { validate(config); }

std::optional<Metrics> SoftmaxBound::closed_form(uint64_t seed) const {
  const HeadMaps maps = load_head(config_.head, seed);
  const int64_t length = config_.length;
  const Tensor tokens = random_tokens(maps.wq.dim(1), length, config_.token_norm, seed);
  const Tensor q = engine::matmul(tokens, maps.wq, true, true), k = engine::matmul(tokens, maps.wk, true, true);
  const Tensor z = engine::matmul(q, k, false, true);  // (L, L)
  const double delta =
      maps.scale * spectral_norm(maps.wq) * spectral_norm(maps.wk) * config_.token_norm * config_.token_norm +
      config_.alibi_slope * static_cast<double>(length - 1);
  Metrics metrics{{"violations", 0}, {"log10_tightest", INFINITY}};
  for (int64_t l = 0; l < length; ++l) {
    std::vector<double> logits;
    for (int64_t j = 0; j <= l; ++j)
      logits.push_back(maps.scale * z.data<double>()[l * length + j] -
                       config_.alibi_slope * static_cast<double>(l - j));
    const SoftmaxJacobian jacobian = softmax_jacobian(logits);
    metrics["violations"] += failures(jacobian, delta, l + 1);
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
  return fmt::format("softmax's Jacobian, {}, {} tokens", name_of(config_.head), config_.length);
}

SvdBound::SvdBound(const SvdBoundConfig& config) : config_(config) { validate(config); }

std::optional<Metrics> SvdBound::closed_form(uint64_t seed) const {
  const HeadMaps maps = load_head(config_.head, seed);
  const Tensor tokens = random_tokens(maps.wq.dim(1), config_.length, config_.token_norm, seed);
  const LowRankErrors errors = low_rank_errors(maps, tokens, config_.rank, config_.alibi_slope);
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
  return fmt::format("logits of rank {}, {}, {} tokens", config_.rank, name_of(config_.head), config_.length);
}

RopeBound::RopeBound(const RopeBoundConfig& config) : config_(config) { validate(config); }

std::optional<Metrics> RopeBound::closed_form(uint64_t seed) const {
  const HeadMaps maps = load_head(config_.head, seed);
  const Tensor tokens = random_tokens(maps.wq.dim(1), config_.length, config_.token_norm, seed);
  const RopeErrors errors = rope_errors(maps, tokens, config_.rank, config_.pairing, config_.base);
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
  return fmt::format("rotary maps of rank {}, {}", config_.rank, name_of(config_.head));
}

}  // namespace headroom::tasks
