#include "tasks/compression/lowrank_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/error.h"
#include "tasks/data/sha256.h"
#include "tasks/layer_set.h"
#include "tasks/theory/model_costs.h"

namespace headroom::tasks {
namespace {

constexpr const char* every_layer = "each";

/// What a refinement trains towards; none of those that train nothing, or weights.
std::optional<RefineTarget> target_of(Refinement refinement) {
  switch (refinement) {
    case Refinement::attention:
      return RefineTarget::attention;
    case Refinement::hidden:
      return RefineTarget::hidden;
    case Refinement::logits:
      return RefineTarget::logits;
    default:
      return std::nullopt;
  }
}

/// Whether learning rates can be chosen on the calibration's tokens: where nothing is trained on them.
bool has_validation(const LowRankConfig& config) {
  if (!target_of(config.refinement) || config.layers == every_layer) return false;
  const TokenRange &trained = config.refinement_tokens, &own = config.calibration;
  return config.refinement_text.text != config.calibration_text.text || trained.end <= own.begin ||
         own.end <= trained.begin;
}

bool reads_calibration(const LowRankConfig& config) {
  return needs_of(config.qk, config.vo).any() || config.refits_output || config.spread == RankSpread::measured ||
         has_validation(config);
}

std::string named(const StudiedTextConfig& text, TokenRange tokens) {
  return fmt::format("{} {}:{}", text.text, tokens.begin, tokens.end);
}

void add_perplexity(Metrics& metrics, const PerplexityBase& whole, const Perplexity& own) {
  metrics["perplexity"] = own.ppl;
  metrics["base_perplexity"] = whole.uncompressed().ppl;
  metrics["ratio"] = own.ppl / whole.uncompressed().ppl;
  metrics["kl"] = own.against->kl_mean;
  metrics["top1_agreement"] = own.against->top1_agreement;
}

void add_costs(Metrics& metrics, const models::TransformerConfig& base, const models::TransformerConfig& compressed,
               int64_t context) {
  const ModelCosts before = model_costs(base, 1, context, widths_of(4));
  const ModelCosts after = model_costs(compressed, 1, context, widths_of(4));
  metrics["model_parameters"] = static_cast<double>(after.parameters);
  metrics["cache_bytes"] = after.kv_bytes;
  metrics["model_flops"] = after.forward_flops;
  metrics["parameter_share"] = static_cast<double>(after.parameters) / static_cast<double>(before.parameters);
  metrics["cache_share"] = after.kv_bytes / before.kv_bytes;
  metrics["flops_share"] = after.forward_flops / before.forward_flops;
}

const std::vector<std::string> usual_names{
    "perplexity",  "ratio",       "base_perplexity", "kl",          "top1_agreement", "model_parameters",
    "cache_bytes", "model_flops", "parameter_share", "cache_share", "flops_share"};
const std::vector<std::string> refinement_names{"gradient_share", "update_norm", "update_norm_without_decay",
                                                "error_ratio"};
const std::vector<std::string> training_names{"first_loss", "last_loss"};
const std::vector<std::string> each_names{"most_layer", "least_ratio", "least_layer", "early_ratio", "late_ratio"};

}  // namespace

void validate(const LowRankConfig& config) {
  validate(config.model);
  validate(config.text);
  require(config.text.spans.empty() && config.calibration_text.spans.empty(), "spans: are not used here");
  require(config.text.text != "random" && config.calibration_text.text != "random",
          "text: expected a path, got \"random\"");
  require(config.context >= 2, "context: expected >= 2, got {}", config.context);
  require(config.protocol != PerplexityProtocol::hf_strided, "protocol: expected disjoint or llamacpp, got {}",
          name_of(config.protocol));
  require(config.tokens >= config.context, "tokens: expected at least the context of {}, got {}", config.context,
          config.tokens);
  require(config.rank >= 1, "rank: expected >= 1, got {}", config.rank);
  const bool has_method = config.qk != QkMethod::none || config.vo != VoMethod::none;
  require(has_method != config.removed.has_value(), "qk: expected a method, or vo one, or pieces that are removed");
  require(
      !config.refits_output || config.removed == RemovedPart::heads || config.removed == RemovedPart::key_value_heads,
      "refit: fits the output of heads that stay: expected removed heads, or kv-heads");
  const TokenRange& own = config.calibration;
  require(own.begin >= 0 && own.begin < own.end, "calibration: tokens {}:{}", own.begin, own.end);
  require(config.calibration_text.text != config.text.text || own.begin >= config.tokens,
          "calibration: tokens {}:{} overlap those that are predicted, 0:{}", own.begin, own.end, config.tokens);
  require(config.refinement != Refinement::weights || config.qk == QkMethod::plain,
          "refinement: by weights it needs qk plain, got {}", name_of(config.qk));
  validate(config.training);
  const TokenRange& refining = config.refinement_tokens;
  require(refining.begin >= 0 && refining.begin < refining.end, "refinement: tokens {}:{}", refining.begin,
          refining.end);
  require(!target_of(config.refinement) || config.refinement_text.text != config.text.text ||
              refining.begin >= config.tokens,
          "refinement: tokens {}:{} overlap those that are predicted, 0:{}", refining.begin, refining.end,
          config.tokens);
  if (config.layers != every_layer) validate_layer_set(config.layers);
}

void LowRankMeasurement::check() const {
  const models::TransformerConfig& config = model().description().config;
  require_suited(config_.qk, config);
  const models::HeadGroup head = models::first_layer(config).groups.at(0);
  const auto possible = [&](const char* part, const std::vector<int64_t>& ranks) {
    if (ranks.empty()) return;
    require(std::binary_search(ranks.begin(), ranks.end(), config_.rank),
            "{}: {} of rank {}: its heads are of width {}", config_.model.model, part, config_.rank, ranks.back());
  };
  possible("qk", possible_ranks(config_.qk, config, head.qk_dim));
  possible("vo", possible_ranks(config_.vo, head.v_dim));
  require(!config_.removed || config_.rank <= head.qk_dim, "{}: heads of width {} kept in the mean: they are {} wide",
          config_.model.model, config_.rank, head.qk_dim);
  if (config_.layers != every_layer) {
    const std::set<int64_t> layers = layers_named(config_.layers, config.layers, 0);
    if (config_.removed) pieces_of(*config_.removed, config, layers);
  }
  const int64_t longest = model().description().context;
  require(config_.context <= longest, "context: {} is longer than that of {}, which is {}", config_.context,
          config_.model.model, longest);
  const auto length = std::ssize(model().tokens_of(config_.text));
  require(config_.tokens <= length, "{}: {} tokens, expected >= {}", config_.text.text, length, config_.tokens);
  if (target_of(config_.refinement)) {
    const auto refining = std::ssize(model().tokens_of(config_.refinement_text));
    require(config_.refinement_tokens.begin + config_.training.context < refining,
            "{}: has {} tokens, refinement needs more than {} from {} on", config_.refinement_text.text, refining,
            config_.training.context, config_.refinement_tokens.begin);
  }
  if (!reads_calibration(config_)) return;
  const auto own = std::ssize(model().tokens_of(config_.calibration_text));
  require(config_.calibration.end <= own, "{}: has {} tokens, calibration needs {}:{}", config_.calibration_text.text,
          own, config_.calibration.begin, config_.calibration.end);
}

std::vector<int32_t> LowRankMeasurement::tokens_of(const StudiedTextConfig& text, TokenRange range) const {
  const std::vector<int32_t>& all = model().tokens_of(text);
  return {all.begin() + range.begin, all.begin() + std::min(range.end, std::ssize(all))};
}

std::shared_ptr<KeptLosses> LowRankMeasurement::kept_losses(const CompressionRequest& request,
                                                            const MeasurementRun& how) const {
  if (how.folder.empty()) return nullptr;
  std::string of =
      fmt::format("{} {:d} {} {} {} of {} by {} {}", how.device.str(), config_.model.is_random,
                  config_.removed ? name_of(*config_.removed) : "", name_of(config_.qk), name_of(config_.vo),
                  fmt::join(request.layers, ","), request.calibration_name, request.context);
  for (const auto& [file, sha256] : model().hashes(config_.calibration_text)) of += " " + sha256;
  std::error_code error;
  std::filesystem::create_directories(how.folder, error);
  require(!error, "{}: cannot make the folder: {}", how.folder.string(), error.message());
  return std::make_shared<KeptLosses>(how.folder / (sha256(of).substr(0, 24) + ".losses"), of);
}

CompressionRequest LowRankMeasurement::request_of(const std::set<int64_t>& layers, uint64_t seed,
                                                  const MeasurementRun& how) const {
  const models::TransformerConfig& config = model().description().config;
  CompressionRequest request{.plan = uniform_plan(config, config_.qk, config_.vo, config_.rank, config_.rank, layers),
                             .layers = layers,
                             .removed = config_.removed,
                             .refits_output = config_.refits_output,
                             .seed = seed,
                             .context = config_.context,
                             .serves_others = true};
  const bool is_measured = config_.spread == RankSpread::measured;
  if (is_measured) request.allowance.of = config_.removed ? Allowance::Of::parameters : Allowance::Of::same_cost;
  request.allowance.value =
      static_cast<double>(config_.rank) / static_cast<double>(models::first_layer(config).groups.at(0).qk_dim);
  if (reads_calibration(config_)) {
    request.calibration_name = named(config_.calibration_text, config_.calibration);
    request.calibration = tokens_of(config_.calibration_text, config_.calibration);
    if (is_measured) request.kept = kept_losses(request, how);
  }
  if (const auto target = target_of(config_.refinement)) {
    request.refinement = config_.training;
    request.refinement->target = *target;
    request.refinement->seed = seed;
    request.refinement->note = how.note;
    request.refinement_text = tokens_of(config_.refinement_text, config_.refinement_tokens);
  }
  return request;
}

models::ModelEdit LowRankMeasurement::refined_by_weights(const models::ModelEdit& edit, Metrics& metrics) const {
  const auto with_decay = [&](double decay) {
    return refine_weights(model().description().config, *model().weights(), edit, {.weight_decay = decay});
  };
  const double without_decay = with_decay(0).update;
  WeightRefinement refinement = with_decay(0.01);
  metrics["gradient_share"] = refinement.gradient_scale > 0 ? refinement.gradient / refinement.gradient_scale : 0;
  metrics["update_norm"] = refinement.update;
  metrics["update_norm_without_decay"] = without_decay;
  metrics["error_ratio"] = refinement.error_before > 0 ? refinement.error_after / refinement.error_before : 1;
  return std::move(refinement.edit);
}

Metrics LowRankMeasurement::metrics_of(const std::set<int64_t>& layers, uint64_t seed, const MeasurementRun& how,
                                       Metrics* validation) const {
  Metrics metrics;
  Compressed smaller = compress(model(), request_of(layers, seed, how), how.device);
  if (config_.refinement == Refinement::weights) smaller.edit = refined_by_weights(smaller.edit, metrics);
  if (smaller.refinement) {
    metrics["first_loss"] = smaller.refinement->first_loss;
    metrics["last_loss"] = smaller.refinement->last_loss;
  }
  add_costs(metrics, model().description().config, smaller.edit.config, config_.context);
  const auto made = model().edited(smaller.edit, how.device);
  const auto score = [&](Metrics& own, const StudiedTextConfig& text, TokenRange range) {
    const auto whole = perplexity_base(model(), named(text, range), tokens_of(text, range), config_.context, how.device,
                                       config_.protocol);
    const Perplexity measured = whole->measure(*made, *layers.begin());
    add_perplexity(own, *whole, measured);
    return measured;
  };
  const Perplexity measured = score(metrics, config_.text, {0, config_.tokens});
  if (how.parts && config_.layers != every_layer) *how.parts = perplexity_parts(measured);
  if (validation && has_validation(config_)) {
    *validation = metrics;
    score(*validation, config_.calibration_text, config_.calibration);
  }
  return metrics;
}

Metrics LowRankMeasurement::each_layer(uint64_t seed, const MeasurementRun& how) const {
  const int64_t layers = model().description().config.layers, third = std::max<int64_t>(layers / 3, 1);
  Metrics most;
  double least = 0, least_layer = 0, most_layer = 0, early = 0, late = 0;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const Metrics own = metrics_of({layer}, seed, how);
    const double ratio = own.at("ratio");
    if (layer == 0 || ratio < least) least = ratio, least_layer = static_cast<double>(layer);
    if (layer == 0 || ratio > most.at("ratio")) most = own, most_layer = static_cast<double>(layer);
    if (layer < third) early = std::max(early, ratio);
    if (layer >= layers - third) late = std::max(late, ratio);
  }
  most.insert({{"most_layer", most_layer},
               {"least_ratio", least},
               {"least_layer", least_layer},
               {"early_ratio", early},
               {"late_ratio", late}});
  return most;
}

std::optional<Metrics> LowRankMeasurement::run(uint64_t seed, const MeasurementRun& how) const {
  check();
  if (config_.layers == every_layer) return each_layer(seed, how);
  return metrics_of(layers_named(config_.layers, model().description().config.layers, seed), seed, how, how.validation);
}

std::map<std::string, std::string> LowRankMeasurement::data_hashes() const {
  std::map<std::string, std::string> hashes = model().hashes(config_.text);
  if (reads_calibration(config_)) hashes.merge(model().hashes(config_.calibration_text));
  if (target_of(config_.refinement)) hashes.merge(model().hashes(config_.refinement_text));
  return hashes;
}

std::string LowRankMeasurement::describe() const {
  const std::string layers = config_.layers == every_layer ? "each layer alone" : "layers " + config_.layers;
  if (config_.removed)
    return fmt::format("{}{} without {} in {}, of which {} numbers a head stay in the mean", config_.model.model,
                       config_.model.is_random ? " with random weights" : "", name_of(*config_.removed), layers,
                       config_.rank);
  return fmt::format("{}{} with heads of rank {}{} in {}: qk {}, vo {}", config_.model.model,
                     config_.model.is_random ? " with random weights" : "", config_.rank,
                     config_.spread == RankSpread::measured ? " in the mean" : "", layers, name_of(config_.qk),
                     name_of(config_.vo));
}

std::set<std::string> metric_names_of(const LowRankConfig& config) {
  std::set<std::string> names(usual_names.begin(), usual_names.end());
  if (config.layers == every_layer) names.insert(each_names.begin(), each_names.end());
  if (config.refinement == Refinement::weights) names.insert(refinement_names.begin(), refinement_names.end());
  if (target_of(config.refinement)) names.insert(training_names.begin(), training_names.end());
  return names;
}

std::vector<std::string> lowrank_metrics() {
  std::vector<std::string> names = usual_names;
  for (const auto* more : {&refinement_names, &training_names, &each_names})
    for (const std::string& name : *more)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

}  // namespace headroom::tasks
