#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tasks/compression/compress.h"
#include "tasks/compression/perplexity_base.h"
#include "tasks/compression/weight_refinement.h"
#include "tasks/measurement.h"

namespace headroom::tasks {

/// Tokens [begin, end) of a text.
struct TokenRange {
  int64_t begin = 0, end = 0;
};

/// What is done to factors after they were made: nothing, training them towards the weights that they came from, or
/// towards what the model does (see RefineTarget).
enum class Refinement { none, weights, attention, hidden, logits };

/// How ranks are spread over heads, or pieces chosen.
enum class RankSpread {
  equal,     ///< all the same; pieces drawn by the seed
  measured,  ///< ranks that cost as much in sum, spent where they lose least (see HeadBudget, RemovalOrder)
};

/// What a trained model loses when its heads are made smaller.
struct LowRankConfig {
  using Made = class LowRankMeasurement;
  static constexpr bool runs_on_devices = true;
  StudiedModelConfig model{};
  StudiedTextConfig text{};  ///< whose first `tokens` are predicted
  int64_t tokens = 4096;
  int64_t context = 512;  ///< of the text's chunks, and of the calibration's pieces
  PerplexityProtocol protocol = PerplexityProtocol::disjoint;  ///< not hf_strided
  StudiedTextConfig calibration_text{};
  TokenRange calibration{200000, 208192};
  QkMethod qk = QkMethod::plain;
  VoMethod vo = VoMethod::none;
  /// In place of qk and vo: whole pieces are taken out, so many that rank / width of them stay.
  std::optional<RemovedPart> removed{};
  bool refits_output = false;  ///< see HeadRemoval::edit(); of heads and key-value heads
  int64_t rank = 16;           ///< of every key-value head of the layers, or in the mean of what it costs
  RankSpread spread = RankSpread::equal;
  std::string layers = "all";  ///< layers_named(), "random" ones drawn by the seed; "each": every layer alone, in turn
  Refinement refinement = Refinement::none;
  RefineConfig training{};  ///< of a refinement by attention, hidden states or logits; its seed is the trial's
  StudiedTextConfig refinement_text{.text = "wikitext-2/wiki.train.tokens"};
  TokenRange refinement_tokens{0, 400000};
};

/// Throws Error naming the field and what is allowed.
void validate(const LowRankConfig& config);

/// Metrics: `perplexity`, `ratio` to the uncompressed model's, `base_perplexity`; `kl` from the uncompressed model in
/// nats, `top1_agreement` with it; `model_parameters`, `cache_bytes` of keys and values per token in f32, `model_flops`
/// per token at this context, and `parameter_share`, `cache_share`, `flops_share` of the uncompressed model's. With
/// layers "each" all these are those of the most sensitive layer alone, `most_layer`, and there are `least_ratio`,
/// `least_layer`, and `early_ratio` and `late_ratio`, the largest of the first and of the last third; with other layers
/// a text of 16 windows or more gives perplexity_parts(). With refinement by weights also `gradient_share`, the
/// gradient at the truncated SVD as a share of one of as large an error at random, `update_norm` and
/// `update_norm_without_decay`, how far 150 steps move the factors with weight decay 0.01 and 0, of their norm, and
/// `error_ratio`, the squared error of the weights after over before; with any other `first_loss` and `last_loss`,
/// means of its loss over ten steps, and as validation, which a choice between learning rates goes by, the same on the
/// calibration's tokens, unless it trains on them or layers are "each".
class LowRankMeasurement : public ModelMeasurement<LowRankConfig> {
 public:
  using ModelMeasurement::ModelMeasurement;
  void check() const override;
  Metrics compute(uint64_t seed) const override { return *run(seed, {}); }
  std::optional<Metrics> run(uint64_t seed, const MeasurementRun& how) const override;
  bool waits_for_others() const override { return true; }
  std::map<std::string, std::string> data_hashes() const override;
  std::string describe() const override;

 private:
  /// Those of a range that the text has.
  std::vector<int32_t> tokens_of(const StudiedTextConfig& text, TokenRange range) const;
  /// In the run's folder, those of every head or piece, so that a run that is stopped goes on among them; null without.
  std::shared_ptr<KeptLosses> kept_losses(const CompressionRequest& request, const MeasurementRun& how) const;
  CompressionRequest request_of(const std::set<int64_t>& layers, uint64_t seed, const MeasurementRun& how) const;
  models::ModelEdit refined_by_weights(const models::ModelEdit& edit, Metrics& metrics) const;
  Metrics metrics_of(const std::set<int64_t>& layers, uint64_t seed, const MeasurementRun& how,
                     Metrics* validation = nullptr) const;
  Metrics each_layer(uint64_t seed, const MeasurementRun& how) const;
};

/// The names of its metrics for a config, and all there are.
std::set<std::string> metric_names_of(const LowRankConfig& config);
std::vector<std::string> lowrank_metrics();

}  // namespace headroom::tasks
