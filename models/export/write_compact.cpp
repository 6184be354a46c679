#include "models/export/write_compact.h"

#include <map>

#include "engine/error.h"
#include "engine/quantized/quantize.h"
#include "models/compact/compact_model.h"
#include "models/compact/compact_store.h"
#include "models/convert/check.h"
#include "models/convert/folder_files.h"
#include "models/convert/staged.h"
#include "models/files/atomic_file.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using engine::BlockFormat;
using engine::DType;
using engine::QuantizedMatrix;

/// Notes every weight that a model asks another source for.
class NotedWeights : public WeightSource {
 public:
  struct Noted {
    std::string name;
    StoredTensor stored;
    bool is_matrix;
  };
  explicit NotedWeights(WeightSource& inner) : inner_(inner) {}
  Weight matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) override {
    Weight weight = inner_.matrix(name, out, in, draw);
    const auto* blocks = std::get_if<QuantizedMatrix>(&weight.form());
    noted_.push_back({name, blocks ? StoredTensor(*blocks) : StoredTensor(weight.values(DType::f32)), true});
    return weight;
  }
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) override {
    Var leaf = inner_.tensor(name, shape, draw);
    noted_.push_back({name, leaf.value(), false});
    return leaf;
  }
  DType dtype() const override { return inner_.dtype(); }
  void finish() const override { inner_.finish(); }
  const std::vector<Noted>& noted() const { return noted_; }

 private:
  WeightSource& inner_;
  std::vector<Noted> noted_;
};

Tensor numbers_of(const StoredTensor& stored) {
  if (const auto* blocks = std::get_if<QuantizedMatrix>(&stored)) return blocks->dequantize();
  return std::get<Tensor>(stored).to(DType::f32).contiguous();
}

/// A matrix in the type asked for.
StoredTensor in_type(const Tensor& values, WeightType type) {
  if (type == WeightType::f32) return values;
  if (type == WeightType::bf16) return values.to(DType::bf16);
  const bool is_whole = values.dim(1) % engine::layout_of(BlockFormat::q8_0).elements == 0;
  if (type == WeightType::f16 || !is_whole) return values.to(DType::f16);
  return engine::quantize_q8_0(values);
}

/// Blocks that are 16-bit numbers as a tensor of these.
StoredTensor as_numbers(const StoredTensor& stored) {
  const auto* matrix = std::get_if<QuantizedMatrix>(&stored);
  if (!matrix || (matrix->format() != BlockFormat::f16 && matrix->format() != BlockFormat::bf16)) return stored;
  const auto bytes = std::make_shared<const Tensor>(matrix->blocks());
  return Tensor::over(bytes->raw(), bytes, matrix->shape(),
                      matrix->format() == BlockFormat::f16 ? DType::f16 : DType::bf16);
}

std::vector<NotedWeights::Noted> weights_to_write(const ModelFiles& base, const ModelEdit& edit,
                                                  std::optional<WeightType> type) {
  const LoadOptions stored;
  EditedWeights source(base.weights(stored), edit.weights, stored.weights);
  NotedWeights notes(source);
  const Transformer model(edit.config, notes);
  std::set<std::string> edited;
  for (const auto& [name, tensor] : edit.weights) edited.insert(name);
  std::vector<NotedWeights::Noted> all = notes.noted();
  for (NotedWeights::Noted& weight : all) {
    weight.stored = as_numbers(weight.stored);
    // Without an edit the type is that of the whole model; blocks of other formats are not rounded once more to Q8_0.
    const bool is_kept = type == WeightType::q8_0 && std::holds_alternative<QuantizedMatrix>(weight.stored);
    if (type && weight.is_matrix && (edited.empty() ? !is_kept : edited.contains(weight.name)))
      weight.stored = in_type(numbers_of(weight.stored), *type);
  }
  return all;
}

}  // namespace

Conversion write_compact(const ModelFiles& base, const ModelEdit& edit, const fs::path& to,
                         const ConvertOptions& options) {
  require(to.extension() != ".gguf", "{}: a compact model is a folder; name one without .gguf", to.string());
  check_target(base.path(), to, options.force);
  ModelDescription model = base.description();
  model.config = edit.config;
  const std::string config = compact_config_json(model, base.full_config());
  if (base.has_tokenizer()) (void)base.tokenizer();
  return staged(to, options, [&](const fs::path& folder, Conversion& conversion) {
    std::map<std::string, std::string> metadata{{"format", "pt"}};
    std::map<std::string, int64_t> kinds;
    std::vector<SafetensorsPlanned> planned;
    const std::vector<NotedWeights::Noted> weights = weights_to_write(base, edit, options.type);
    size_t done = 0;
    for (const NotedWeights::Noted& weight : weights) {
      Tensor bytes;
      if (const auto* blocks = std::get_if<QuantizedMatrix>(&weight.stored)) {
        metadata[weight.name] = block_entry(*blocks);
        ++kinds[engine::layout_of(blocks->format()).name];
        bytes = blocks->blocks();
      } else {
        bytes = std::get<Tensor>(weight.stored);
        ++kinds[engine::name_of(bytes.dtype())];
      }
      planned.push_back({weight.name, bytes.dtype(), bytes.shape(), [&, bytes] {
                           if (options.progress) options.progress(++done, weights.size());
                           return bytes;
                         }});
    }
    fs::create_directory(folder);
    write_file(folder / "config.json", config);
    write_tokenizer_and_generation(folder, base, conversion.notes);
    stream_safetensors(folder / "model.safetensors", planned, metadata);
    conversion.rounded = options.type && *options.type != WeightType::f32;
    std::string text;
    for (const auto& [kind, count] : kinds) text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", count, kind);
    conversion.written = fmt::format("{} tensors ({}), {:.1f} MB", weights.size(), text,
                                     static_cast<double>(fs::file_size(folder / "model.safetensors")) / 1e6);
    check_conversion(base, load(base, edit), folder, conversion);
  });
}

}  // namespace headroom::models
