#include "tasks/measure/head_source.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/embedding/embedding.h"
#include "engine/ops/layer_norm/layer_norm.h"
#include "engine/ops/rms_norm/rms_norm.h"
#include "engine/rng.h"
#include "models/files/entries_of.h"
#include "models/positions.h"
#include "models/safetensors/safetensors.h"
#include "tasks/training/checkpoint.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using engine::Tensor;

/// The trial's config that a file of weights holds.
nlohmann::json config_of(const models::SafetensorsFile& file) {
  check_weights(file);
  const auto text = file.metadata().find("config");
  nlohmann::json config = nlohmann::json::parse(text == file.metadata().end() ? "" : text->second, nullptr, false);
  require(config.is_object() && config.contains("model"), "{}: holds no config of a trial", file.path().string());
  return config;
}

/// The weights of a trained model, and [model] of the config that they hold.
class TrainedModel {
 public:
  explicit TrainedModel(const HeadSource& source) : file_(trained_weights(source)) {
    model_ = config_of(file_)["model"];
    layer_ = fmt::format("blocks.{}.", source.layer);
    layer_index_ = static_cast<size_t>(source.layer);
    require(has("attention.0.q_proj.weight") || has("attention.0.q_proj.weight_a"), "{}: there is no layer {}", name(),
            source.layer);
  }

  std::string name() const { return file_.path().string(); }

  /// A value of [model].
  template <class T>
  T get(const char* key) const {
    return get<T>(model_, key);
  }
  template <class T>
  T get(const nlohmann::json& table, const char* key) const {
    try {
      return table.at(key).get<T>();
    } catch (const nlohmann::json::exception&) {
      fail("{}: the trial's config lacks model.{}, or it is of another kind", name(), key);
    }
  }
  bool says(const char* key) const { return model_.contains(key); }
  /// Tables of [[model.layer]].groups or [model].groups, or [model] itself, which then describes the only group.
  const nlohmann::json& group(size_t i) const {
    const nlohmann::json& layers = model_.contains("layer") ? model_["layer"] : model_;
    const bool is_own = layers.is_array() && layer_index_ < layers.size();
    const nlohmann::json& table = is_own ? layers[layer_index_] : model_;
    const nlohmann::json& groups = table.contains("groups") ? table["groups"] : table;
    return groups.is_array() && i < groups.size() ? groups[i] : model_;
  }

  bool has_tensor(const std::string& weight) const { return file_.contains(weight); }
  /// True if the file has this weight of the layer.
  bool has(const std::string& weight) const { return file_.contains(layer_ + weight); }
  Tensor layer(const std::string& weight) const { return tensor(layer_ + weight); }
  /// In f64.
  Tensor tensor(const std::string& weight) const {
    const Tensor x = file_.tensor(weight).to(DType::f64);
    require_finite(fmt::format("{}: {}", name(), weight), x);
    return x;
  }

 private:
  models::SafetensorsFile file_;
  nlohmann::json model_;
  std::string layer_;
  size_t layer_index_ = 0;
};

/// Rows [begin, begin + count) of a projection, its biases as one more column.
Tensor projection_rows(const TrainedModel& model, const std::string& projection, int64_t begin, int64_t count) {
  const Tensor weight = model.layer(projection + ".weight").slice(0, begin, begin + count);  // (d_H, D)
  if (!model.has(projection + ".bias")) return weight.contiguous();
  const Tensor bias = model.layer(projection + ".bias").slice(0, begin, begin + count);  // (d_H)
  return engine::concat({weight, bias.reshape({count, 1})}, 1);                          // (d_H, D + 1)
}

/// How many keys and values serve the `heads` of a group, from its weights.
int64_t key_heads(const TrainedModel& model, const std::string& group, int64_t heads, int64_t dim) {
  const Tensor q = model.layer(group + "q_proj.weight"), k = model.layer(group + "k_proj.weight");
  const bool fits = heads >= 1 && dim >= 1 && q.rank() == 2 && k.rank() == 2 && q.dim(0) == heads * dim &&
                    q.dim(1) == k.dim(1) && k.dim(0) >= dim && k.dim(0) % dim == 0 && heads % (k.dim(0) / dim) == 0;
  require(fits, "{}: queries {} and keys {} do not fit the config's {} heads of width {}", model.name(), q.str(),
          k.str(), heads, dim);
  return k.dim(0) / dim;
}

/// Heads whose logits are more than W_Q, W_K and biases of both say.
void require_plain(const TrainedModel& model, const std::string& group) {
  const char* wanted = "expected heads whose queries and keys are x W^T, with biases on both or none";
  require(!model.has(group + "q_norm.weight"), "{}: its queries and keys are normed; {}", model.name(), wanted);
  for (const char* projection : {"q_proj", "k_proj"})
    require(!model.has(group + projection + ".weight_a"), "{}: {} is two factors; {}", model.name(), projection,
            wanted);
  require(model.has(group + "q_proj.bias") == model.has(group + "k_proj.bias"),
          "{}: one of queries and keys has biases; {}", model.name(), wanted);
}

/// (L, D) through the norm in front of the layer's attention.
Tensor normed(const TrainedModel& model, const Tensor& x) {
  const auto kind = model.get<std::string>("norm");
  if (kind == "none" || model.get<std::string>("norm_place") == "post") return x;
  const Tensor weight = model.layer("attention_norm.weight");
  const auto eps = model.get<double>("norm_eps");
  if (kind == "rms_norm") return engine::rms_norm(x, weight, eps).y;
  return engine::layer_norm(x, weight, model.layer("attention_norm.bias"), eps).y;
}

}  // namespace

std::filesystem::path trained_weights(const HeadSource& source) {
  auto files = models::entries_if_any(std::filesystem::path(source.run) / "weights", ".safetensors");
  require(!files.empty(), "{}: has no weights of trained models; run its study with --set train.keep_weights=true",
          source.run);
  std::erase_if(files, [&](const auto& file) {
    if (!file.filename().string().starts_with(source.trial)) return true;
    if (source.seed < 0) return false;
    const nlohmann::json config = config_of(models::SafetensorsFile(file));
    return !config.contains("seed") || config["seed"] != source.seed;
  });
  require(!files.empty(), "{}: has no weights of a trial {}…{}", source.run, source.trial,
          source.seed < 0 ? "" : fmt::format(" of seed {}", source.seed));
  if (files.size() > 1)
    fail(
        "{}: has the weights of {} models, {} and {} among them: trial = \"…\" or seed = … names one (results.csv has "
        "their ids)",
        source.run, files.size(), files[0].stem().string(), files[1].stem().string());
  return files[0];
}

HeadMaps read_head_of_run(const HeadSource& source) {
  const TrainedModel model(source);
  HeadMaps maps;
  maps.is_causal = model.get<bool>("causal");
  const models::PositionScheme& scheme = models::scheme_named(model.get<std::string>("positions"));
  require(!model.says("rope_dim"), "{}: RoPE turns a part of each head; expected heads that turn whole", model.name());
  if (scheme.turns()) maps.rope_base = model.get<double>("rope_base");
  int64_t head = source.head;
  for (size_t group = 0;; ++group) {
    const std::string name = fmt::format("attention.{}.", group);
    require_plain(model, name);
    require(model.has(name + "q_proj.weight"), "{}: layer {} has {} heads, there is no head {}", model.name(),
            source.layer, source.head - head, source.head);
    const nlohmann::json& shape = model.group(group);
    const auto heads = model.get<int64_t>(shape, "heads"), dim = model.get<int64_t>(shape, "qk_dim");
    const int64_t keys = key_heads(model, name, heads, dim);
    if (head >= heads) {
      head -= heads;
      continue;
    }
    maps.wq = projection_rows(model, name + "q_proj", head * dim, dim);
    maps.wk = projection_rows(model, name + "k_proj", head * keys / heads * dim, dim);
    maps.has_biases = model.has(name + "q_proj.bias");
    maps.scale = 1 / std::sqrt(static_cast<double>(dim));
    if (const auto scale = model.get<nlohmann::json>("logit_scale"); !scale.is_null())
      maps.scale = model.get<double>("logit_scale");
    if (scheme.biases_scores()) maps.alibi_slope = std::exp(model.layer(name + "log_slopes").data<double>()[head]);
    return maps;
  }
}

Tensor embedded_tokens(const HeadSource& source, int64_t length, uint64_t seed) {
  require(!source.run.empty(), "tokens: a random head has no embedding; expected a trained one");
  require(source.layer == 0, "tokens: the embedding feeds layer 0, not layer {}", source.layer);
  const TrainedModel model(source);
  require(model.has_tensor("tokens.weight"), "{}: the model has no vocabulary to draw tokens from", model.name());
  const Tensor table = model.tensor("tokens.weight");  // (V, D)
  engine::Rng rng(seed);
  const Tensor ids = engine::random_integers({length}, rng, "vocabulary", 0, table.dim(0));  // (L)
  Tensor x = engine::embedding(table, ids);                                                  // (L, D)
  const models::PositionScheme& scheme = models::scheme_named(model.get<std::string>("positions"));
  if (scheme.is_learned()) {
    const Tensor learned = model.tensor("positions");  // (max_length, D)
    require(length <= learned.dim(0), "length: {} learned positions, as many tokens at most; got {}", learned.dim(0),
            length);
    x = engine::add(x, learned.slice(0, 0, length));
  } else if (scheme.table) {
    x = engine::add(x, scheme.table(length, x.dim(1), DType::f64));
  }
  return normed(model, x).transpose(0, 1).contiguous();  // (D, L)
}

}  // namespace headroom::tasks
