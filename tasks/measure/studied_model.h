#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "models/checkpoints/model_edit.h"
#include "tasks/data/locate.h"
#include "tasks/measure/attention_probe.h"
#include "tasks/measure/head_spectra.h"
#include "tasks/measurement.h"

namespace headroom::tasks {

/// The model a study measures.
struct StudiedModelConfig {
  /// A GGUF file or a Hugging Face folder: a path, or its name below models/ of a data folder.
  std::string model;
  bool is_random = false;  ///< a copy of its shape with random weights: N(0, 0.02²), norms 1, biases 0
};

/// The text it reads.
struct StudiedTextConfig {
  /// A text: a path, or its name below a data folder. "random": tokens drawn uniformly from the vocabulary.
  std::string text = "wikitext-2/wiki.test.raw";
  /// A JSON file {"512": [start, …]} with the first token of each span by length; "" = drawn uniformly from the text.
  std::string spans{};
};

/// Throw Error naming the field.
void validate(const StudiedModelConfig& config);
void validate(const StudiedTextConfig& config);

/// Holds one model per device, loaded on first request. Safe to call from several threads.
class ModelByDevice {
 public:
  /// The device's model. `load()` makes it on the context's device; all streams may read the result.
  template <class Load>
  const models::Transformer& get(engine::Device device, const Load& load) {
    const std::lock_guard lock(loading_);
    std::unique_ptr<models::Transformer>& model = models_[device.str()];
    if (model) return *model;
    const engine::DeviceScope scope(device);
    model = load();
    engine::synchronize(device);
    return *model;
  }

 private:
  std::mutex loading_;
  std::map<std::string, std::unique_ptr<models::Transformer>> models_;
};

/// A trained model and its measurements, in memory once for all trials of a process. Reads weights on first use, in
/// f32: unpacks quantised ones, leaves 16-bit ones in place. Safe to call from several threads.
class StudiedModel {
 public:
  /// The model of that config; opens it unless some trial holds it. Throws Error if there is no such model, naming the
  /// places searched, or if its files are wrong.
  static std::shared_ptr<StudiedModel> of(const StudiedModelConfig& config, const DataRoots& roots);

  const models::ModelDescription& description() const { return files_->description(); }
  const models::Transformer& transformer(engine::Device device = engine::cpu);
  /// The same with every matrix unpacked to f32, to be edited or trained.
  const models::Transformer& unpacked(engine::Device device = engine::cpu);
  /// Span `index` of a text: `length` tokens, including the model's beginning-of-text token if it has one. The whole
  /// text is tokenised, unchanged. Throws Error if the text or the file of spans is missing, too short, or has no such
  /// span, and for a length beyond the model's context.
  std::vector<int64_t> span(const StudiedTextConfig& text, int64_t length, int64_t index);
  /// Probes every head at the query `position` (0-based) of a span; the query has index 0 in the probe. One run covers
  /// positions 2^k − 1, L/2 and L − 1; any other takes another run.
  AttentionProbe probe(const StudiedTextConfig& text, int64_t length, int64_t index, int64_t position);
  /// The spectra of every head, with activations of spans [first, first + count); computed once for all callers.
  std::shared_ptr<const std::vector<TurnedSpectra>> spectra(const StudiedTextConfig& text, int64_t length,
                                                            int64_t first, int64_t count);
  /// The ids of a whole text, without a beginning-of-text token. Throws Error as span().
  const std::vector<int32_t>& tokens_of(const StudiedTextConfig& text);
  const models::ModelFiles& files() const { return *files_; }
  std::shared_ptr<const models::Tokenizer> tokenizer();
  /// Its weights under our names, in f32.
  std::unique_ptr<models::WeightSource> weights();
  /// This model with an edit. It shares this model's memory or mapped files.
  std::unique_ptr<models::Transformer> edited(const models::ModelEdit& edit, engine::Device device = engine::cpu);
  /// The result of `make`, made once per key while the model is held. Each key stands for one type.
  template <class T, class Make>
  std::shared_ptr<const T> once(const std::string& key, const Make& make) {
    const std::shared_ptr<SharedValue> place = shared_value(key);
    const std::lock_guard lock(place->making);
    if (!place->value) place->value = std::make_shared<const T>(make());
    return std::static_pointer_cast<const T>(place->value);
  }
  /// File → SHA-256 of the model's files, and of text and spans.
  std::map<std::string, std::string> hashes(const StudiedTextConfig& text);

  StudiedModel(const StudiedModelConfig& config, const DataRoots& roots);
  explicit StudiedModel(std::unique_ptr<models::ModelFiles> files);

 private:
  struct SharedValue {
    std::mutex making;
    std::shared_ptr<const void> value;
  };

  std::shared_ptr<SharedValue> shared_value(const std::string& key);
  int64_t start_of(const StudiedTextConfig& text, int64_t tokens, int64_t length, int64_t index) const;

  StudiedModelConfig config_;
  DataRoots roots_;
  std::unique_ptr<models::ModelFiles> files_;
  std::mutex tokenising_, sharing_;
  ModelByDevice transformers_, unpacked_;
  std::shared_ptr<const models::Tokenizer> tokenizer_;
  std::map<std::string, std::shared_ptr<SharedValue>> shared_;
};

/// The StudiedModel of a config, opened at its first use and held from then on. Safe to call from several threads.
class HeldModel {
 public:
  HeldModel(StudiedModelConfig config, DataRoots roots) : config_(std::move(config)), roots_(std::move(roots)) {}
  /// Throws Error as StudiedModel::of() does.
  StudiedModel& get();

 private:
  StudiedModelConfig config_;
  DataRoots roots_;
  std::mutex opening_;
  std::shared_ptr<StudiedModel> model_;
};

/// A measurement of the config's `model` on its `text`.
template <class Config>
class ModelMeasurement : public ConfiguredMeasurement<Config> {
 public:
  ModelMeasurement(const Config& config, const DataRoots& roots)
      : ConfiguredMeasurement<Config>(config), model_(config.model, roots) {}
  std::map<std::string, std::string> data_hashes() const override { return model().hashes(this->config_.text); }

 protected:
  StudiedModel& model() const { return model_.get(); }

 private:
  mutable HeldModel model_;
};

}  // namespace headroom::tasks
