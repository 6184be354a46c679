#include "models/write/write_compact.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "engine/error.h"
#include "models/checkpoints/compact_model.h"
#include "models/checkpoints/compact_store.h"
#include "models/files/atomic_file.h"
#include "models/write/folder_files.h"
#include "models/write/staged.h"
#include "models/write/tensors.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using engine::DType;
using engine::QuantizedMatrix;

/// Notes every weight that a model asks another source for.
class NotedWeights : public WeightSource {
 public:
  /// A whole matrix; a factor of one, or a map of scores, which is a matrix of numbers too; a bias or a norm's scale.
  enum class Kind { matrix, factor, vector };
  struct Noted {
    std::string name;
    StoredTensor stored;
    Kind kind;
  };
  explicit NotedWeights(WeightSource& inner) : inner_(inner) {}
  Weight matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) override {
    Weight weight = inner_.matrix(name, out, in, draw);
    const auto* blocks = std::get_if<QuantizedMatrix>(&weight.form());
    noted_.push_back({name, blocks ? StoredTensor(*blocks) : StoredTensor(weight.values(DType::f32)), Kind::matrix});
    return weight;
  }
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) override {
    Var leaf = inner_.tensor(name, shape, draw);
    noted_.push_back({name, leaf.value(), shape.rank() == 2 ? Kind::factor : Kind::vector});
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
  return in_form(values, matrix_form(type, values.dim(1)));
}

/// The base's stored matrix for our `name` in a layer's attention, for any group of heads, if it is in blocks.
std::optional<QuantizedMatrix> blocks_of_base(const ModelFiles& base, const std::string& name) {
  const std::string attention = ".attention.";
  const size_t at = name.find(attention), end = at + attention.size();
  if (at == std::string::npos || family_named(base.description().family).is_fused()) return std::nullopt;
  std::string whole = name;
  if (const size_t dot = name.find('.', end); name.find_first_not_of("0123456789", end) == dot)
    whole.replace(end, dot - end, "0");
  const std::string theirs = place_of(base.scheme(), whole, false).name;
  if (!base.tensors().contains(theirs)) return std::nullopt;
  const StoredTensor stored = base.tensors().read(theirs);
  const auto* blocks = std::get_if<QuantizedMatrix>(&stored);
  return blocks ? std::optional(*blocks) : std::nullopt;
}

/// The blocks of the rows of `base` that `values` is made of (kept rotary pairs, repeated values), which are its bits
/// in less memory; nothing where a row is another.
std::optional<QuantizedMatrix> in_rows_of(const QuantizedMatrix& base, const Tensor& values) {
  if (values.dim(1) != base.cols()) return std::nullopt;
  const Tensor known = base.dequantize();  // (R, C)
  const auto row_of = [](const Tensor& matrix, int64_t row) {
    return std::string_view(reinterpret_cast<const char*>(matrix.data<float>() + row * matrix.dim(1)),
                            static_cast<size_t>(matrix.dim(1)) * sizeof(float));
  };
  std::map<std::string_view, int64_t> places;
  for (int64_t i = 0; i < known.dim(0); ++i) places.emplace(row_of(known, i), i);
  Tensor bytes = Tensor::empty({values.dim(0) * base.row_bytes()}, DType::u8);
  for (int64_t i = 0; i < values.dim(0); ++i) {
    const auto found = places.find(row_of(values, i));
    if (found == places.end()) return std::nullopt;
    std::copy_n(base.row(found->second), base.row_bytes(), bytes.mutable_data<uint8_t>() + i * base.row_bytes());
  }
  return QuantizedMatrix(base.format(), values.dim(0), values.dim(1), bytes);
}

/// Blocks that are 16-bit numbers as a tensor of these.
StoredTensor as_numbers(const StoredTensor& stored) {
  const auto* matrix = std::get_if<QuantizedMatrix>(&stored);
  const std::optional<DType> dtype = matrix ? dtype_of(matrix->format()) : std::nullopt;
  if (!dtype) return stored;
  const auto bytes = std::make_shared<const Tensor>(matrix->blocks());
  return Tensor::over(bytes->raw(), bytes, matrix->shape(), *dtype);
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
  const bool is_compact = base.scheme() == NameScheme::headroom;
  for (NotedWeights::Noted& weight : all) {
    using Kind = NotedWeights::Kind;
    const bool is_edited = edited.contains(weight.name);
    // The model has the factors of a compact base unpacked: they stay as they lie there.
    if (weight.kind == Kind::factor && is_compact && !is_edited) weight.stored = base.tensors().read(weight.name);
    weight.stored = as_numbers(weight.stored);
    if (weight.kind == Kind::matrix && is_edited)
      if (const auto blocks = blocks_of_base(base, weight.name))
        if (const auto rows = in_rows_of(*blocks, numbers_of(weight.stored))) {
          weight.stored = *rows;
          continue;
        }
    // Without an edit the type is that of the whole model; blocks of other formats are not rounded once more to Q8_0.
    const bool is_kept = type == WeightType::q8_0 && std::holds_alternative<QuantizedMatrix>(weight.stored);
    if (type && weight.kind != Kind::vector && (edited.empty() ? !is_kept : is_edited))
      weight.stored = in_type(numbers_of(weight.stored), *type);
  }
  return all;
}

int64_t bytes_of(const StoredTensor& stored) {
  if (const auto* blocks = std::get_if<QuantizedMatrix>(&stored)) return blocks->bytes();
  const auto& tensor = std::get<Tensor>(stored);
  return tensor.numel() * engine::size_of(tensor.dtype());
}

}  // namespace

ModelEdit rounded(ModelEdit edit, WeightType type) {
  for (auto& [name, tensor] : edit.weights)
    if (tensor.rank() == 2) tensor = numbers_of(in_type(numbers_of(tensor), type));
  return edit;
}

int64_t compact_bytes(const ModelFiles& base, const ModelEdit& edit, std::optional<WeightType> type) {
  int64_t bytes = 0;
  for (const NotedWeights::Noted& weight : weights_to_write(base, edit, type)) bytes += bytes_of(weight.stored);
  return bytes;
}

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
    std::vector<std::pair<GgufForm, Shape>> written;
    const std::vector<NotedWeights::Noted> weights = weights_to_write(base, edit, options.type);
    size_t done = 0;
    for (const NotedWeights::Noted& weight : weights) {
      Tensor bytes;
      if (const auto* blocks = std::get_if<QuantizedMatrix>(&weight.stored)) {
        metadata[weight.name] = block_entry(*blocks);
        ++kinds[engine::traits_of(blocks->format()).name];
        bytes = blocks->blocks();
        written.emplace_back(blocks->format(), blocks->shape());
      } else {
        bytes = std::get<Tensor>(weight.stored);
        ++kinds[engine::name_of(bytes.dtype())];
        written.emplace_back(gguf_form(bytes.dtype()), bytes.shape());
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
    conversion.written = fmt::format("{} tensors ({})", weights.size(), text);
    note_partial_blocks(options.type, written, conversion.notes);
    check_conversion(base, load(base, edit), folder, conversion);
  });
}

}  // namespace headroom::models
