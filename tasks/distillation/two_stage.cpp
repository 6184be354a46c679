#include "tasks/distillation/two_stage.h"

#include <algorithm>

#include "models/checkpoints/model_edit.h"
#include "tasks/data/locate.h"
#include "tasks/distillation/distillation.h"
#include "tasks/finetune/sentence_classification.h"
#include "tasks/finetune/text_windows.h"
#include "tasks/language/text_files.h"
#include "tasks/layer_set.h"

namespace headroom::tasks {
namespace {

using engine::Tensor;
using models::ModelEdit;
using models::NamedTensors;
using models::Transformer;

constexpr const char* correct_name = "dev.correct";  ///< among a stage's tensors: f32 (sentences), 1 where it is right
constexpr DistillationWeights stage_one_weights{.kl = 1, .hidden = 1};
constexpr DistillationWeights stage_two_weights{.cross_entropy = 1, .kl = 1, .hidden = 1};

/// The one that all others are tested against.
TwoStageConfig reference_of(TwoStageConfig config) {
  config.row = TwoStageRow::compressed;
  config.init = FactorInit::svd;
  config.has_stage_one = config.has_stage_two = true;
  return config;
}

bool is_reference(const TwoStageConfig& config) {
  return config.row == TwoStageRow::compressed && config.init == FactorInit::svd && config.has_stage_one &&
         config.has_stage_two;
}

/// AdamW without decay, gradients clipped to norm 1, a tenth of the steps to warm up, then a cosine to 0.
StageTraining training_of(int64_t steps, int64_t batch, double rate, uint64_t seed) {
  StageTraining training{.trainer = {}, .steps = steps, .seed = seed};
  training.trainer.optimizer.lr = rate;
  training.trainer.batch = batch;
  training.trainer.clip = 1;
  const int64_t warmup = steps / 10;
  if (warmup > 0) training.trainer.schedule.push_back({.kind = "warmup", .warmup = warmup});
  if (steps > warmup) training.trainer.schedule.push_back({.kind = "cosine", .steps = steps - warmup, .start = warmup});
  return training;
}

bool is_of_readout(const std::string& name) { return name.starts_with("readout."); }

/// The stages of one seed, each made when it is asked for. An undefined pointer: it was stopped.
class TwoStageWork {
 public:
  using Result = std::shared_ptr<const StageResult>;

  TwoStageWork(const TwoStageConfig& config, const TwoStageData& data, uint64_t seed, const MeasurementRun& how)
      : config_(config), data_(data), seed_(seed), how_(how), run_(how), stages_(run_) {
    run_.on_step = [this](int64_t step, double loss) { return !how_.on_step || how_.on_step(before_ + step, loss); };
  }

  std::optional<Metrics> metrics() {
    const Result own = classifier(config_);
    if (!own) return std::nullopt;
    Metrics metrics{{"accuracy", own->metrics.at("accuracy")},
                    {"percent_accuracy", 100 * own->metrics.at("accuracy")},
                    {"dev_cross_entropy", own->metrics.at("dev_cross_entropy")}};
    if (config_.row == TwoStageRow::compressed && !add_losses(metrics)) return std::nullopt;
    if (is_reference(config_)) return metrics;
    const Result reference = classifier(reference_of(config_));
    if (!reference) return std::nullopt;
    const McNemar test = mcnemar(correct_of(*reference), correct_of(*own));
    metrics["mcnemar_p"] = test.p;
    metrics["reference_accuracy"] = reference->metrics.at("accuracy");
    metrics["only_reference"] = static_cast<double>(test.only_first);
    metrics["only_this"] = static_cast<double>(test.only_second);
    return metrics;
  }

  int64_t steps_of_epochs(const StageSettings& settings) const {
    const auto count = static_cast<int64_t>(
        data_.source.sentence_count > 0
            ? std::min<size_t>(static_cast<size_t>(data_.source.sentence_count), data_.sentences.size())
            : data_.sentences.size());
    return settings.epochs * ((count + settings.batch - 1) / settings.batch);
  }

 private:
  std::string words(const char* stage, const StageSettings& settings) const {
    return fmt::format("{}: steps {} epochs {} batch {} rate {:.17g}; seed {}; sentences {}; ", stage, settings.steps,
                       settings.epochs, settings.batch, settings.rate, seed_, data_.source.sentence_count);
  }
  std::string factor_words(const TwoStageConfig& config) const {
    return fmt::format("factors: layers {} rank {} {} seed {}; validation {} in {}; {}", config.layers, config.rank,
                       name_in(factor_init_names, config.init), seed_, data_.source.validation_tokens,
                       data_.source.validation_window, data_.identity);
  }
  std::string teacher_words() const { return words("teacher", config_.teacher) + data_.identity; }
  std::string one_words(const TwoStageConfig& config) const {
    return words("stage one", config.one) + fmt::format("windows of {}; ", data_.source.window) + factor_words(config);
  }
  std::string two_words(const TwoStageConfig& config) const {
    const std::string start = config.row == TwoStageRow::head_only ? "no factors"
                              : config.has_stage_one               ? one_words(config)
                                                                   : factor_words(config);
    const std::string two = config.has_stage_two ? words("stage two", config.two) : "no stage two; ";
    return two + teacher_words() + start;
  }

  /// On the run's device.
  const Transformer& original() const { return data_.model(how_.device); }

  ModelEdit base_edit() const { return {data_.config(), {}}; }

  Result classifier(const TwoStageConfig& config) {
    if (config.row == TwoStageRow::teacher) return teacher();
    const Result start = config.row == TwoStageRow::head_only ? std::make_shared<const StageResult>()
                         : config.has_stage_one               ? refined(config)
                                                              : factored(config);
    const Result taught_by = start && config.has_stage_two ? teacher() : nullptr;
    if (!start || (config.has_stage_two && !taught_by)) return nullptr;
    return stages_.get(two_words(config),
                       [&](const auto& unfinished) { return distilled(config, *start, taught_by.get(), unfinished); });
  }

  Result teacher() {
    return stages_.get(teacher_words(), [&](const auto& unfinished) -> std::optional<StageResult> {
      engine::Rng rng(seed_);
      ModelEdit edit = models::classifier_of(base_edit(), data_.classes, rng);
      edit.config.checkpoint_blocks = true;  // weights, gradients and moments of all of it are in memory
      const auto model = models::load(original(), edit, {.dtype = engine::DType::f32, .is_trained = {}});
      const SentenceClassification task(data_.sample(seed_));
      const int64_t steps = steps_of_epochs(config_.teacher);
      before_ = 0;
      if (!train_stage(*model, task, training_of(steps, config_.teacher.batch, config_.teacher.rate, seed_), unfinished,
                       run_))
        return std::nullopt;
      return judged(*model);
    });
  }

  /// The factors as they start, and what they lose.
  Result factored(const TwoStageConfig& config) {
    return stages_.get(factor_words(config), [&](const auto&) -> std::optional<StageResult> {
      const ModelEdit edit = factors(config);
      const auto model = models::load(original(), edit);
      return StageResult{edit.weights, losses(*model, "init")};
    });
  }

  Result refined(const TwoStageConfig& config) {
    const Result start = factored(config);
    return stages_.get(one_words(config), [&](const auto& unfinished) -> std::optional<StageResult> {
      const auto model = models::load(original(), {factors(config).config, start->tensors},
                                      {.dtype = engine::DType::f32, .is_trained = is_head_factor});
      const TextWindows text(data_.text, data_.source.window, data_.bos);
      const Distillation task(original(), text, {.weights = stage_one_weights});
      before_ = steps_of_epochs(config.teacher);
      if (!train_stage(*model, task, training_of(config.one.steps, config.one.batch, config.one.rate, seed_),
                       unfinished, run_))
        return std::nullopt;
      return StageResult{trained_weights(*model), losses(*model, "stage1")};
    });
  }

  std::optional<StageResult> distilled(const TwoStageConfig& config, const StageResult& start,
                                       const StageResult* taught_by, const std::filesystem::path& unfinished) {
    ModelEdit edit = base_edit();
    if (config.row != TwoStageRow::head_only) edit = {factors(config).config, start.tensors};
    engine::Rng rng(seed_);
    const auto model = models::load(original(), models::classifier_of(edit, data_.classes, rng),
                                    {.dtype = engine::DType::f32, .is_trained = [](const std::string& name) {
                                       return is_head_factor(name) || is_of_readout(name);
                                     }});
    if (!taught_by) return judged(*model);
    const auto whole = teacher_model(*taught_by);
    const SentenceClassification sentences(data_.sample(seed_));
    const Distillation task(*whole, sentences, {.weights = stage_two_weights});
    before_ = steps_of_epochs(config.teacher) + config.one.steps;
    const int64_t steps = steps_of_epochs(config.two);
    if (!train_stage(*model, task, training_of(steps, config.two.batch, config.two.rate, seed_), unfinished, run_))
      return std::nullopt;
    return judged(*model);
  }

  std::unique_ptr<Transformer> teacher_model(const StageResult& result) const {
    NamedTensors weights;
    for (const auto& [name, tensor] : result.tensors)
      if (name != correct_name) weights.emplace_back(name, tensor);
    engine::Rng rng(seed_);
    return models::load(original(), {models::classifier_of(base_edit(), data_.classes, rng).config, weights});
  }

  ModelEdit factors(const TwoStageConfig& config) const {
    engine::Rng rng(seed_);
    const FactoredHeads heads{
        .layers = layers_named(config.layers, data_.config().layers, seed_), .rank = config.rank, .init = config.init};
    return factored_heads(data_.model(engine::cpu), heads, rng);
  }

  /// A classifier's trained weights, and its results on the dev sentences.
  StageResult judged(const Transformer& model) const {
    StageResult result{trained_weights(model), {}};
    const ClassPredictions predictions = predict_classes(model, data_.dev);
    const std::vector<float> correct(predictions.is_correct.begin(), predictions.is_correct.end());
    result.tensors.emplace_back(correct_name, Tensor::from({std::ssize(correct)}, correct));
    result.metrics = {{"accuracy", predictions.accuracy}, {"dev_cross_entropy", predictions.cross_entropy}};
    return result;
  }

  /// On the validation text, in windows one after the other: NAME_loss and NAME_distillation.
  Metrics losses(const Transformer& student, const std::string& name) const {
    const autograd::NoGrad no_grad;
    const int64_t window = data_.source.validation_window;
    const TextWindows text(data_.validation, window, data_.bos);
    const Distillation task(original(), text, {.weights = {.cross_entropy = 1, .kl = 1, .hidden = 1}});
    double loss = 0, distillation = 0, windows = 0;
    for (int64_t first = 0; first + window < std::ssize(data_.validation); first += window) {
      const DistillationTerms terms = task.terms(student, text.at({first}).to(student.device()), {});
      loss += terms.cross_entropy.value().item();
      distillation += terms.kl.value().item() + terms.hidden.value().item();
      windows += 1;
    }
    return {{name + "_loss", loss / windows}, {name + "_distillation", distillation / windows}};
  }

  /// False when it was stopped.
  bool add_losses(Metrics& metrics) {
    const Result start = factored(config_);
    metrics.insert(start->metrics.begin(), start->metrics.end());
    const std::string base = fmt::format("base loss: validation {} in {}; {}", data_.source.validation_tokens,
                                         data_.source.validation_window, data_.identity);
    const Result whole = stages_.get(base, [&](const auto&) {
      Metrics own = losses(original(), "base");
      own.erase("base_distillation");
      return std::optional<StageResult>({{}, own});
    });
    metrics.insert(whole->metrics.begin(), whole->metrics.end());
    metrics["stage1_loss"] = metrics.at("init_loss");
    metrics["stage1_distillation"] = metrics.at("init_distillation");
    if (!config_.has_stage_one) return true;
    const Result after = refined(config_);
    if (!after) return false;
    for (const auto& [name, value] : after->metrics) metrics[name] = value;
    return true;
  }

  static std::vector<uint8_t> correct_of(const StageResult& result) {
    for (const auto& [name, tensor] : result.tensors)
      if (name == correct_name) return tensor.to_vector<uint8_t>();
    fail("two stages: a stage without predictions");
  }

  const TwoStageConfig& config_;
  const TwoStageData& data_;
  const uint64_t seed_;
  const MeasurementRun& how_;
  MeasurementRun run_;
  Stages stages_;
  int64_t before_ = 0;  ///< steps of the stages before the present one
};

}  // namespace

void validate(const TwoStageConfig& config) {
  const TwoStageSource& source = config.source;
  require(!source.model.empty(), "model: expected a path or a name");
  require(source.window >= 1, "window: expected >= 1, got {}", source.window);
  require(source.validation_window >= 1 && source.validation_tokens >= source.validation_window,
          "validation_tokens: expected at least validation_window = {}, got {}", source.validation_window,
          source.validation_tokens);
  require(source.sentence_count >= 0, "sentence_count: expected >= 0, got {}", source.sentence_count);
  validate_layer_set(config.layers);
  require(config.rank >= 1, "rank: expected >= 1, got {}", config.rank);
  for (const auto& [name, stage] :
       {std::pair{"teacher", &config.teacher}, {"one", &config.one}, {"two", &config.two}}) {
    require(stage->batch >= 1, "{}.batch_size: expected >= 1, got {}", name, stage->batch);
    require(stage->rate > 0, "{}.rate: expected > 0, got {}", name, stage->rate);
    require(stage->steps >= 0 && stage->epochs >= 0, "{}: expected steps or epochs >= 0", name);
  }
}

TwoStage::TwoStage(const TwoStageConfig& config, const DataRoots& roots)
    : config_(config), roots_(roots), model_({.model = config.source.model}, roots) {
  validate(config);
}

void TwoStage::check() const {
  const models::TransformerConfig& config = model_.get().description().config;
  const std::string& name = config_.source.model;
  require(config.causal && config.vocab > 0, "{}: is no language model of tokens", name);
  const std::vector<models::LayerConfig> layers = models::layers_of(config);
  for (const int64_t layer : layers_named(config_.layers, config.layers, 0))
    for (const models::HeadGroup& group : layers[static_cast<size_t>(layer)].groups)
      require(config_.rank <= group.qk_dim, "{}: rank {}: expected 1 to d_H = {}", name, config_.rank, group.qk_dim);
  const TwoStageSource& source = config_.source;
  for (const std::string& file : {source.text, source.validation, source.sentences, source.dev})
    find_file(file, roots_);
}

std::shared_ptr<const TwoStageData> TwoStage::data() const {
  const std::lock_guard lock(loading_);
  if (!data_) data_ = TwoStageData::of(config_.source, roots_);
  return data_;
}

Metrics TwoStage::compute(uint64_t seed) const { return *run(seed, {}); }

std::optional<Metrics> TwoStage::run(uint64_t seed, const MeasurementRun& how) const {
  check();
  const auto own = data();
  return TwoStageWork(config_, *own, seed, how).metrics();
}

int64_t TwoStage::steps() const {
  const auto own = data();
  const MeasurementRun none;
  const TwoStageWork work(config_, *own, 0, none);
  return work.steps_of_epochs(config_.teacher) + config_.one.steps + work.steps_of_epochs(config_.two);
}

std::map<std::string, std::string> TwoStage::data_hashes() const {
  return two_stage_hashes(model_.get(), config_.source);
}

std::string TwoStage::describe() const {
  const std::string row =
      config_.row != TwoStageRow::compressed
          ? name_in(two_stage_row_names, config_.row)
          : fmt::format("heads of rank {} in layers {}, {}{}{}", config_.rank, config_.layers,
                        name_in(factor_init_names, config_.init), config_.has_stage_one ? ", stage I" : "",
                        config_.has_stage_two ? ", stage II" : "");
  return fmt::format("{} of {}", row, config_.source.model);
}

std::set<std::string> metric_names_of(const TwoStageConfig& config) {
  std::set<std::string> names{"accuracy", "percent_accuracy", "dev_cross_entropy"};
  if (config.row == TwoStageRow::compressed)
    names.insert({"init_loss", "init_distillation", "stage1_loss", "stage1_distillation", "base_loss"});
  if (!is_reference(config)) names.insert({"mcnemar_p", "reference_accuracy", "only_reference", "only_this"});
  return names;
}

std::vector<std::string> two_stage_metrics() {
  TwoStageConfig other;
  other.init = FactorInit::kaiming;
  const std::set<std::string> names = metric_names_of(other);
  return {names.begin(), names.end()};
}

}  // namespace headroom::tasks
