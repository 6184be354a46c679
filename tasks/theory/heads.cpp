#include "tasks/theory/heads.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/error.h"
#include "engine/rng.h"
#include "models/safetensors/safetensors.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using engine::Tensor;

Tensor normal(const engine::Shape& shape, double std, engine::Rng& rng, const char* stream) {
  const int64_t numbers = shape.numel();
  return engine::random_normal(shape, 0, std, rng.take(stream, numbers + numbers % 2), DType::f64);
}

/// The first weights of a run, by name.
std::filesystem::path weights_of(const std::string& run) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(run) / "weights", error))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  require(!files.empty(), "{}: has no weights of trained models; run its study with --set train.keep_weights=true",
          run);
  return *std::min_element(files.begin(), files.end());
}

/// Rows [begin, begin + count) in f64.
Tensor rows(const Tensor& x, int64_t begin, int64_t count) {
  return x.slice(0, begin, begin + count).to(DType::f64).contiguous();
}

/// The heads of a layer, group by group, as the trial's own config in the file says: (heads, qk_dim, kv_heads).
struct Group {
  int64_t heads = 0, dim = 0, kv_heads = 0;
};

HeadMaps read_head(const HeadSource& source) {
  const models::SafetensorsFile file(weights_of(source.run));
  const std::string layer = fmt::format("blocks.{}.attention.", source.layer);
  require(file.contains(layer + "0.q_proj.weight"), "{}: there is no layer {}", file.path().string(), source.layer);
  const nlohmann::json config =
      nlohmann::json::parse(file.metadata().count("config") ? file.metadata().at("config") : "", nullptr, false);
  require(config.is_object() && config.contains("model"), "{}: holds no config of a trial", file.path().string());
  int64_t before = 0;
  for (int64_t group = 0;; ++group) {
    const std::string name = fmt::format("{}{}.", layer, group);
    require(file.contains(name + "q_proj.weight"), "{}: layer {} has {} heads, there is no head {}",
            file.path().string(), source.layer, before, source.head);
    const Tensor q = file.tensor(name + "q_proj.weight"), k = file.tensor(name + "k_proj.weight");
    const Group shape = [&] {
      const nlohmann::json& model = config["model"];
      const nlohmann::json& of = model.contains("groups") && model["groups"].is_array() && !model["groups"].empty()
                                     ? model["groups"].at(static_cast<size_t>(group))
                                     : model;
      Group read;
      read.heads = of.at("heads").get<int64_t>();
      read.dim = q.dim(0) / read.heads;
      read.kv_heads = k.dim(0) / read.dim;
      return read;
    }();
    if (source.head >= before + shape.heads) {
      before += shape.heads;
      continue;
    }
    const int64_t head = source.head - before, shared = head * shape.kv_heads / shape.heads;
    return {rows(q, head * shape.dim, shape.dim), rows(k, shared * shape.dim, shape.dim),
            1 / std::sqrt(static_cast<double>(shape.dim))};
  }
}

}  // namespace

void validate(const HeadSource& source) {
  require(source.layer >= 0 && source.head >= 0, "layer, head: want >= 0, got {} and {}", source.layer, source.head);
  require(source.width >= 1 && source.head_dim >= 1, "width, head_dim: want >= 1, got {} and {}", source.width,
          source.head_dim);
  require(source.gain > 0 && std::isfinite(source.gain), "gain: wants > 0, got {}", source.gain);
}

HeadMaps load_head(const HeadSource& source, uint64_t seed) {
  validate(source);
  if (!source.run.empty()) return read_head(source);
  engine::Rng rng(seed);
  const double std = source.gain / std::sqrt(static_cast<double>(source.width));
  const engine::Shape shape{source.head_dim, source.width};
  return {normal(shape, std, rng, "queries"), normal(shape, std, rng, "keys"), 1};
}

Tensor random_tokens(int64_t width, int64_t length, double norm, uint64_t seed) {
  require(width >= 1 && length >= 1 && norm > 0, "tokens: width {} and length {} want >= 1, norm {} > 0", width, length,
          norm);
  engine::Rng rng(seed);
  Tensor x = normal({width, length}, 1, rng, "tokens");  // (D, L)
  auto* data = x.mutable_data<double>();
  for (int64_t t = 0; t < length; ++t) {
    double square = 0;
    for (int64_t i = 0; i < width; ++i) square += data[i * length + t] * data[i * length + t];
    for (int64_t i = 0; i < width; ++i) data[i * length + t] *= norm / std::sqrt(square);
  }
  return x;
}

}  // namespace headroom::tasks
