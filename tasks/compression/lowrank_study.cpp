#include "tasks/compression/lowrank_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/error.h"
#include "tasks/layer_set.h"
#include "tasks/theory/model_costs.h"

namespace headroom::tasks {
namespace {

constexpr const char* every_layer = "each";

/// The heads of some layers, taken apart and measured one by one.
struct MeasuredHeads {
  std::shared_ptr<const HeadDecompositions> decompositions;
  std::shared_ptr<const LayerProbe> probe;
  std::shared_ptr<const HeadBudget> budget;
};

/// The pieces of some layers, in the order in which they go.
struct MeasuredPieces {
  std::unique_ptr<const HeadRemoval> removal;
  std::unique_ptr<const LayerProbe> probe;
  std::unique_ptr<RemovalOrder> order;
};

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

bool reads_activations(const LowRankConfig& config) { return (needs_of(config.qk) | needs_of(config.vo)).any(); }

/// Whether learning rates can be chosen on the calibration's tokens: where nothing is trained on them.
bool has_validation(const LowRankConfig& config) {
  if (!target_of(config.refinement) || config.layers == every_layer) return false;
  const TokenRange &trained = config.refinement_tokens, &own = config.calibration;
  return config.refinement_text.text != config.calibration_text.text || trained.end <= own.begin ||
         own.end <= trained.begin;
}

bool reads_calibration(const LowRankConfig& config) {
  return reads_activations(config) || config.spread == RankSpread::measured || has_validation(config);
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
  require(config.tokens >= config.context, "tokens: expected at least the context of {}, got {}", config.context,
          config.tokens);
  require(config.rank >= 1, "rank: expected >= 1, got {}", config.rank);
  const bool has_method = config.qk != QkMethod::none || config.vo != VoMethod::none;
  require(has_method != config.removed.has_value(), "qk: expected a method, or vo one, or pieces that are removed");
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

LowRankStudy::LowRankStudy(const LowRankConfig& config, const DataRoots& roots)
    : config_(config), model_(config.model, roots) {
  validate(config);
}

void LowRankStudy::check() const {
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

std::shared_ptr<const PerplexityBase> LowRankStudy::base(const StudiedTextConfig& text, TokenRange tokens,
                                                         engine::Device device) const {
  StudiedModel& own = model();
  const std::string key =
      fmt::format("perplexity {} {}:{} {} {}", text.text, tokens.begin, tokens.end, config_.context, device.str());
  return own.once<PerplexityBase>(key, [&] {
    const std::vector<int32_t>& all = own.tokens_of(text);
    return PerplexityBase(own.transformer(device), *own.tokenizer(),
                          {all.begin() + tokens.begin, all.begin() + tokens.end},
                          {.context = config_.context, .bos = own.description().text_begin()});
  });
}

std::shared_ptr<const HeadDecompositions> LowRankStudy::decompositions(engine::Device device) const {
  StudiedModel& own = model();
  const std::string text = fmt::format("{} {} {} {} {}", config_.calibration_text.text, config_.calibration.begin,
                                       config_.calibration.end, config_.context, device.str());
  const bool reads = reads_activations(config_);
  return own.once<HeadDecompositions>(
      fmt::format("decompositions {} {} {}", name_of(config_.qk), name_of(config_.vo), reads ? text : ""), [&] {
        std::shared_ptr<const Calibration> calibration = std::make_shared<Calibration>();
        if (reads)
          calibration = own.once<Calibration>("calibration " + text, [&] {
            return calibrate(own.transformer(device), calibration_pieces(),
                             {.needs = {.before_turn = true, .after_turn = true, .outputs = true}});
          });
        const auto weights = own.weights();
        return HeadDecompositions(own.description().config, *weights, config_.qk, config_.vo, *calibration);
      });
}

TokenBatch LowRankStudy::calibration_pieces() const {
  return pieces_of(model().tokens_of(config_.calibration_text), config_.calibration.begin, config_.calibration.end,
                   config_.context, model().description().text_begin());
}

CompressionPlan LowRankStudy::plan_of(const std::set<int64_t>& layers, engine::Device device) const {
  const models::TransformerConfig& config = model().description().config;
  const CompressionPlan equal = uniform_plan(config, config_.qk, config_.vo, config_.rank, config_.rank, layers);
  if (config_.spread == RankSpread::equal) return equal;
  StudiedModel& own = model();
  const std::string key = fmt::format("measured heads {} {} of {} by {} {}:{} {}", name_of(config_.qk),
                                      name_of(config_.vo), fmt::join(layers, ","), config_.calibration_text.text,
                                      config_.calibration.begin, config_.calibration.end, device.str());
  const auto heads = own.once<MeasuredHeads>(key, [&] {
    const TokenBatch texts = probed_texts(calibration_pieces(), config_.context);
    MeasuredHeads out{.decompositions = decompositions(device),
                      .probe = std::make_shared<const LayerProbe>(own.unpacked(device), texts),
                      .budget = nullptr};
    out.budget = std::make_shared<const HeadBudget>(*out.decompositions, *out.probe, config_.qk, config_.vo, layers);
    return out;
  });
  const HeadCosts& costs = heads->budget->costs();
  const BudgetOf of = costs.saved();
  return heads->budget->spend(of, costs.cost(of, equal));
}

models::ModelEdit LowRankStudy::without_pieces(const std::set<int64_t>& layers, uint64_t seed,
                                               engine::Device device) const {
  StudiedModel& own = model();
  const models::TransformerConfig& config = own.description().config;
  const std::string key =
      fmt::format("measured {} of {} by {} {}:{} {}", name_of(*config_.removed), fmt::join(layers, ","),
                  config_.calibration_text.text, config_.calibration.begin, config_.calibration.end, device.str());
  const bool is_measured = config_.spread == RankSpread::measured;
  const auto pieces = own.once<MeasuredPieces>(is_measured ? key : "pieces of " + key, [&] {
    MeasuredPieces out;
    out.removal = std::make_unique<const HeadRemoval>(config, *own.weights(), *config_.removed, layers);
    if (!is_measured) return out;
    out.probe = std::make_unique<const LayerProbe>(own.unpacked(device),
                                                   probed_texts(calibration_pieces(), config_.context, removal_tokens));
    out.order = std::make_unique<RemovalOrder>(*out.removal, *out.probe);
    return out;
  });
  const double share =
      static_cast<double>(config_.rank) / static_cast<double>(models::first_layer(config).groups.at(0).qk_dim);
  const int64_t count = pieces->removal->count_beside(share);
  return pieces->removal->edit(is_measured ? pieces->order->first(count) : drawn(*pieces->removal, count, seed));
}

models::ModelEdit LowRankStudy::smaller(const std::set<int64_t>& layers, uint64_t seed, engine::Device device) const {
  if (config_.removed) return without_pieces(layers, seed, device);
  return decompositions(device)->edit(plan_of(layers, device));
}

models::ModelEdit LowRankStudy::refined(models::ModelEdit edit, uint64_t seed, const MeasurementRun& how,
                                        Metrics& metrics) const {
  const models::TransformerConfig& config = model().description().config;
  if (config_.refinement == Refinement::none) return edit;
  if (config_.refinement == Refinement::weights) {
    const auto with_decay = [&](double decay) {
      const auto weights = model().weights();
      return refine_weights(config, *weights, edit, {.weight_decay = decay});
    };
    const double without_decay = with_decay(0).update;
    WeightRefinement refinement = with_decay(0.01);
    metrics["gradient_share"] = refinement.gradient_scale > 0 ? refinement.gradient / refinement.gradient_scale : 0;
    metrics["update_norm"] = refinement.update;
    metrics["update_norm_without_decay"] = without_decay;
    metrics["error_ratio"] = refinement.error_before > 0 ? refinement.error_after / refinement.error_before : 1;
    return std::move(refinement.edit);
  }
  const std::vector<int32_t>& text = model().tokens_of(config_.refinement_text);
  const int64_t begin = std::min(config_.refinement_tokens.begin, std::ssize(text)),
                end = std::min(config_.refinement_tokens.end, std::ssize(text));
  RefineConfig training = config_.training;
  training.target = *target_of(config_.refinement);
  training.seed = seed;
  training.note = how.note;
  training.bos = model().description().text_begin();
  Refined out = refine(model().unpacked(how.device), edit, {text.begin() + begin, text.begin() + end}, training);
  metrics["first_loss"] = out.first_loss;
  metrics["last_loss"] = out.last_loss;
  return std::move(out.edit);
}

Metrics LowRankStudy::metrics_of(const std::set<int64_t>& layers, uint64_t seed, const MeasurementRun& how,
                                 Metrics* validation) const {
  Metrics metrics;
  const models::ModelEdit edit = refined(smaller(layers, seed, how.device), seed, how, metrics);
  add_costs(metrics, model().description().config, edit.config, config_.context);
  const auto made = model().edited(edit, how.device);
  const auto score = [&](Metrics& own, const StudiedTextConfig& text, TokenRange tokens) {
    const auto whole = base(text, tokens, how.device);
    add_perplexity(own, *whole, whole->measure(*made, *layers.begin()));
  };
  score(metrics, config_.text, {0, config_.tokens});
  if (validation && has_validation(config_)) {
    *validation = metrics;
    score(*validation, config_.calibration_text, config_.calibration);
  }
  return metrics;
}

Metrics LowRankStudy::each_layer(uint64_t seed, const MeasurementRun& how) const {
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

std::optional<Metrics> LowRankStudy::run(uint64_t seed, const MeasurementRun& how) const {
  check();
  if (config_.layers == every_layer) return each_layer(seed, how);
  return metrics_of(layers_named(config_.layers, model().description().config.layers, seed), seed, how, how.validation);
}

std::map<std::string, std::string> LowRankStudy::data_hashes() const {
  std::map<std::string, std::string> hashes = model().hashes(config_.text);
  if (reads_calibration(config_)) hashes.merge(model().hashes(config_.calibration_text));
  if (target_of(config_.refinement)) hashes.merge(model().hashes(config_.refinement_text));
  return hashes;
}

std::string LowRankStudy::describe() const {
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
