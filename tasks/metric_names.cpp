#include "tasks/metric_names.h"

#include <fmt/core.h>

#include <algorithm>

#include "tasks/attention_lags.h"
#include "tasks/linear_functional.h"
#include "tasks/theory/constructive/constructive_task.h"

namespace headroom::tasks {
namespace {

using Names = std::set<std::string>;

const Names regression{"mse", "relative_mse", "error_l2"};

Names token_names(const char* accuracy, bool has_characters) {
  Names names{"cross_entropy", "perplexity", accuracy};
  if (has_characters) names.insert("bits_per_char");
  return names;
}

/// Beside TaskConfig's order: one overload for each kind, so that a new kind without its metrics does not compile.
struct MetricNames {
  Names operator()(const LinearFunctionalConfig& config) const {
    Names names = regression;
    const int64_t asked = config.attention_lags, n = config.kernel.kind == "n-gram" ? config.kernel.n : -1;
    for (int64_t lag = 0; lag <= (asked > 0 ? asked : std::min(n, most_attention_lags)); ++lag)
      names.insert(fmt::format("attention_at_lag_{}", lag));
    if (asked == 0) return names;
    for (const std::string& name : head_lag_names(asked)) names.insert(name);
    names.insert({"peaks_off_plan", "centres_off_plan"});
    return names;
  }
  Names operator()(const ClassificationConfig&) const { return {"cross_entropy", "accuracy"}; }
  Names operator()(const InductionHeadConfig& config) const {
    Names names = regression;
    if (config.attention_lags == 0) return names;
    names.insert("match_share");
    for (int64_t layer = 1; layer <= probed_layers; ++layer)
      for (const std::string& name : head_lag_names(config.attention_lags, fmt::format("layer_{}_", layer)))
        names.insert(name);
    return names;
  }
  Names operator()(const VolterraConfig&) const { return regression; }
  Names operator()(const AllocationBoundConfig&) const { return {"bound"}; }
  Names operator()(const ConstructiveConfig& config) const {
    Names names{"sup_error", "bound", "tightness"};
    if (config.mended.all()) names.insert({"worst_case", "sharp_bound"});
    return names;
  }
  Names operator()(const ExponentialSumConfig& config) const {
    Names names{"l1", "paper_bound", "true_bound", "log10_ratio"};
    if (config.rates != ExponentialSumConfig::Rates::any) return names;
    names.insert({"log10_gain", "proof_slack", "f32_error", "bf16_error", "f64_error"});
    if (config.float_limits) names.insert({"f32_limit", "bf16_limit"});
    return names;
  }
  Names operator()(const RandomProjectionConfig&) const {
    return {"mean_square", "expected_square", "z_score",        "distance",    "tail",
            "exact_tail",  "tail_bound",      "union_residual", "union_bound", "tightness"};
  }
  Names operator()(const SoftmaxBoundConfig&) const {
    return {"violations",  "log10_tightest", "delta",       "largest_logit", "jacobian_norm",
            "scaled_norm", "log10_paper",    "log10_sharp", "log10_spread",  "log10_gershgorin"};
  }
  Names operator()(const SvdBoundConfig&) const {
    return {"violations",     "log10_paper", "log10_sharp", "query_error",
            "late_frobenius", "late_rms",    "log10_ratio", "sigma_next"};
  }
  Names operator()(const RopeBoundConfig& config) const {
    Names names{"map_error", "map_bound",       "logit_error", "logit_bound",
                "tightness", "logit_tightness", "least_error", "rank_excess"};
    if (config.rank % 2 == 0) names.insert({"pairs_error", "mixed_error"});
    return names;
  }
  Names operator()(const NextTokenConfig& config) const {
    Names names = token_names("accuracy", true);
    if (config.corpus.source == "markov") names.insert("excess");
    return names;
  }
  Names operator()(const MaskedConfig&) const { return token_names("masked_accuracy", false); }
  Names operator()(const InstructionsConfig&) const {
    Names names = token_names("accuracy", true);
    names.insert({"cross_entropy_all", "cross_entropy_response"});
    return names;
  }
  Names operator()(const AttentionHeadsConfig& config) const { return metric_names_of(config); }
  Names operator()(const LowRankConfig& config) const { return metric_names_of(config); }
  Names operator()(const SpectraStudyConfig&) const {
    const std::vector<std::string> names = spectra_metrics();
    return {names.begin(), names.end()};
  }
  Names operator()(const HeadDistillationConfig&) const {
    const std::vector<std::string> names = head_distillation_metrics();
    return {names.begin(), names.end()};
  }
  Names operator()(const TwoStageConfig& config) const { return metric_names_of(config); }
};

}  // namespace

std::set<std::string> metric_names(const TaskConfig& config) { return std::visit(MetricNames{}, config); }

}  // namespace headroom::tasks
