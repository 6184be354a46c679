#include "tasks/measure/studied_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/rng.h"
#include "models/files/entries_of.h"
#include "tasks/data/locate.h"
#include "tasks/data/sha256.h"
#include "tasks/language/text_files.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::tasks {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t random_weights_seed = 0;  ///< one random copy: its spans vary, not its weights

bool is_random(const StudiedTextConfig& text) { return text.text == "random"; }

/// A model of the same shape with random weights.
std::unique_ptr<models::Transformer> random_copy(models::TransformerConfig config) {
  config.init = {.scheme = models::InitScheme::normal, .std = 0.02, .embedding_std = 0.02, .position_std = 0.02};
  engine::Rng rng(random_weights_seed);
  return std::make_unique<models::Transformer>(config, rng);
}

/// The files that a model consists of.
std::vector<fs::path> files_of(const fs::path& model) {
  if (!fs::is_directory(model)) return {model};
  std::vector<fs::path> files = models::entries_of(model);
  std::erase_if(files, [](const fs::path& file) {
    const fs::path name = file.filename();
    return name != "config.json" && name.extension() != ".safetensors" && !name.string().starts_with("tokenizer");
  });
  return files;
}

/// The starts of the spans of one length in a file of spans.
std::vector<int64_t> starts_in(const fs::path& file, int64_t length) {
  const nlohmann::json all = nlohmann::json::parse(read_text_file(file), nullptr, false);
  const std::string key = std::to_string(length);
  require(all.is_object() && all.contains(key) && all[key].is_array(),
          "{}: has no list \"{}\": expected {{\"LENGTH\": [first token of each span, …]}}", file.string(), key);
  std::vector<int64_t> starts;
  for (const nlohmann::json& start : all[key]) {
    require(start.is_number_integer() && start.get<int64_t>() >= 0, "{}: \"{}\" holds {}, not the number of a token",
            file.string(), key, start.dump());
    starts.push_back(start.get<int64_t>());
  }
  return starts;
}

/// 2^k − 1, L/2, L − 1, and `wanted`, rising.
std::vector<int64_t> usual_positions(int64_t length, int64_t wanted) {
  std::vector<int64_t> positions{length / 2, length - 1, wanted};
  for (int64_t count = 1; count <= length; count *= 2) positions.push_back(count - 1);
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace

void validate(const StudiedModelConfig& config) { require(!config.model.empty(), "model: expected a path or a name"); }

void validate(const StudiedTextConfig& config) {
  require(!config.text.empty(), "text: expected a path, or \"random\"");
  require(!is_random(config) || config.spans.empty(), "spans: random tokens have none");
}

std::shared_ptr<StudiedModel> StudiedModel::of(const StudiedModelConfig& config, const DataRoots& roots) {
  static std::mutex opening;
  static std::map<std::string, std::weak_ptr<StudiedModel>> open;
  const std::lock_guard lock(opening);
  const fs::path path = fs::absolute(find_model(roots, config.model));
  std::weak_ptr<StudiedModel>& known = open[fmt::format("{} {}", path.string(), config.is_random)];
  if (auto model = known.lock()) return model;
  auto model = std::make_shared<StudiedModel>(config, roots);
  known = model;
  return model;
}

StudiedModel::StudiedModel(const StudiedModelConfig& config, const DataRoots& roots)
    : config_(config), roots_(roots), files_(models::ModelFiles::open(find_model(roots, config.model))) {
  validate(config);
}

StudiedModel::StudiedModel(std::unique_ptr<models::ModelFiles> files)
    : config_{.model = files->path().string()}, files_(std::move(files)) {}

const models::Transformer& StudiedModel::transformer(engine::Device device) {
  return transformers_.get(device, [&] {
    if (config_.is_random) return random_copy(description().config);
    const bool is_folder = fs::is_directory(files_->path());  // of f32, f16 or bf16: no number changes where it lies
    return files_->load({.keep = is_folder ? models::Keep::stored : models::Keep::computed});
  });
}

const models::Transformer& StudiedModel::unpacked(engine::Device device) {
  if (config_.is_random || !fs::is_directory(files_->path())) return transformer(device);
  return unpacked_.get(device, [&] { return files_->load({.keep = models::Keep::computed}); });
}

const std::vector<int32_t>& StudiedModel::tokens_of(const StudiedTextConfig& text) {
  const fs::path file = find_file(text.text, roots_);
  return *once<std::vector<int32_t>>("tokens of " + file.string(), [&] { return tokens_of_file(file, *tokenizer()); });
}

std::shared_ptr<const models::Tokenizer> StudiedModel::tokenizer() {
  const std::lock_guard lock(tokenising_);
  if (!tokenizer_) tokenizer_ = files_->tokenizer();
  return tokenizer_;
}

std::unique_ptr<models::WeightSource> StudiedModel::weights() {
  if (!config_.is_random) return files_->weights({.keep = models::Keep::computed});
  return std::make_unique<models::NamedWeights>(transformer().weights(),
                                                models::WeightOptions{.is_trained = models::none_trained});
}

std::unique_ptr<models::Transformer> StudiedModel::edited(const models::ModelEdit& edit, engine::Device device) {
  const engine::DeviceScope scope(device);
  if (!config_.is_random && fs::is_directory(files_->path())) return models::load(*files_, edit);
  return models::load(transformer(device), edit);
}

std::shared_ptr<StudiedModel::SharedValue> StudiedModel::shared_value(const std::string& key) {
  const std::lock_guard lock(sharing_);
  auto& place = shared_[key];
  if (!place) place = std::make_shared<SharedValue>();
  return place;
}

int64_t StudiedModel::start_of(const StudiedTextConfig& text, int64_t tokens, int64_t length, int64_t index) const {
  require(length <= tokens, "{}: has {} tokens, a span takes {}", text.text, tokens, length);
  if (text.spans.empty()) {
    engine::Rng rng(static_cast<uint64_t>(index));
    const std::string stream = fmt::format("span of {}", length);
    return engine::random_integers({1}, rng, stream, 0, tokens - length + 1).to_vector<int64_t>()[0];
  }
  const fs::path file = find_file(text.spans, roots_);
  const std::vector<int64_t> starts = starts_in(file, length);
  require(index >= 0 && index < std::ssize(starts), "{}: has {} spans of {} tokens, there is no span {}", file.string(),
          starts.size(), length, index);
  const int64_t start = starts[static_cast<size_t>(index)];
  require(start + length <= tokens, "{}: a span of {} tokens begins at {}, the text has {}", file.string(), length,
          start, tokens);
  return start;
}

std::vector<int64_t> StudiedModel::span(const StudiedTextConfig& text, int64_t length, int64_t index) {
  const models::ModelDescription& model = description();
  const int64_t longest = model.context;
  require(length >= 1 && length <= longest, "length: {} is longer than the context of {}, which is {}", length,
          config_.model, longest);
  if (is_random(text)) {
    engine::Rng rng(static_cast<uint64_t>(index));
    const std::string stream = fmt::format("tokens of {}", length);
    return engine::random_integers({length}, rng, stream, 0, model.config.vocab).to_vector<int64_t>();
  }
  const std::vector<int32_t>& all = tokens_of(text);
  const std::optional<int64_t> begin = model.text_begin();
  const int64_t own = length - (begin ? 1 : 0);
  const int64_t start = start_of(text, std::ssize(all), length, index);
  std::vector<int64_t> ids(all.begin() + start, all.begin() + start + own);
  if (begin) ids.insert(ids.begin(), *begin);
  return ids;
}

AttentionProbe StudiedModel::probe(const StudiedTextConfig& text, int64_t length, int64_t index, int64_t position) {
  const std::vector<int64_t> positions = usual_positions(length, position);
  const std::string made =
      fmt::format("probe {} {} {} {} at {}", text.text, text.spans, length, index, fmt::join(positions, ","));
  const auto all = once<AttentionProbe>(
      made, [&] { return probe_attention(transformer(), {span(text, length, index)}, positions).at(0); });
  const models::TransformerConfig& config = description().config;
  const int64_t heads = heads_per_layer(config);
  const auto at = std::find(positions.begin(), positions.end(), position) - positions.begin();
  AttentionProbe probe(config.layers, heads, 1);
  for (int64_t layer = 0; layer < config.layers; ++layer)
    for (int64_t head = 0; head < heads; ++head) probe.at(layer, head, 0) = all->at(layer, head, at);
  return probe;
}

std::shared_ptr<const std::vector<TurnedSpectra>> StudiedModel::spectra(const StudiedTextConfig& text, int64_t length,
                                                                        int64_t first, int64_t count) {
  const std::string made = fmt::format("spectra {} {} {} {} {}", text.text, text.spans, length, first, count);
  return once<std::vector<TurnedSpectra>>(made, [&] {
    TokenBatch texts;
    for (int64_t i = first; i < first + count; ++i) texts.push_back(span(text, length, i));
    return head_spectra(transformer(), texts);
  });
}

std::map<std::string, std::string> StudiedModel::hashes(const StudiedTextConfig& text) {
  std::vector<fs::path> files = files_of(files_->path());
  if (!is_random(text)) files.push_back(find_file(text.text, roots_));
  if (!text.spans.empty()) files.push_back(find_file(text.spans, roots_));
  std::map<std::string, std::string> hashes;
  for (const fs::path& file : files)
    hashes[file.string()] = *once<std::string>("hash of " + file.string(), [&] { return sha256_of_file(file); });
  return hashes;
}

StudiedModel& HeldModel::get() {
  const std::lock_guard lock(opening_);
  if (!model_) model_ = StudiedModel::of(config_, roots_);
  return *model_;
}

}  // namespace headroom::tasks
