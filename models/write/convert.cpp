#include "models/write/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/error.h"
#include "engine/name_table.h"
#include "models/files/atomic_file.h"
#include "models/files/file_size.h"
#include "models/files/json.h"
#include "models/write/export.h"
#include "models/write/folder_files.h"
#include "models/write/gguf_metadata.h"
#include "models/write/staged.h"
#include "models/write/tensors.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

constexpr NameTable<WeightType, 7> type_names{{{WeightType::f32, "f32"},
                                               {WeightType::f16, "f16"},
                                               {WeightType::bf16, "bf16"},
                                               {WeightType::q8_0, "q8_0"},
                                               {WeightType::q6_k, "q6_k"},
                                               {WeightType::q5_k, "q5_k"},
                                               {WeightType::q4_k, "q4_k"}}};

ConvertTarget target_of(const ModelDescription& model, bool is_gguf) {
  const Family& family = family_named(model.family);
  const bool is_classifier = model.config.pooling == Pooling::last;
  require(!is_classifier || (!is_gguf && family.holds_classifiers()),
          "the model is a classifier of {} classes: {} hold none", model.config.output_dim,
          is_gguf ? "GGUF files" : "the folders of this family that are written here");
  if (is_classifier) return {NameScheme::hugging_face_classifier, false};
  if (is_gguf) return {NameScheme::gguf, family.interleaved_in_gguf};
  return {family.tensors, false};
}

/// Describes the tensors written, and their difference from the source.
void describe(const std::vector<TensorMove>& moves, const Rounding& rounding, Conversion& conversion) {
  std::map<std::string, int64_t> forms;
  for (const TensorMove& move : moves) ++forms[gguf_name(move.form)];
  std::string text;
  for (const auto& [form, count] : forms) text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", count, form);
  conversion.written = fmt::format("{} tensors ({})", moves.size(), text);
  conversion.rounded = rounding.tensors > 0;
  if (conversion.rounded)
    conversion.notes.push_back(
        fmt::format("{} tensors are rounded, by at most {:.1e} of a tensor's largest number ({})", rounding.tensors,
                    rounding.worst, rounding.worst_name));
}

void write_gguf_model(const fs::path& path, const ModelFiles& source, const ConvertOptions& options,
                      Conversion& conversion) {
  const ConvertTarget target = target_of(source.description(), true);
  const std::vector<TensorMove> moves = plan_moves(source, target, options);
  const GgufPairs metadata = gguf_metadata(source, moves, options.type, conversion.notes);
  const StoredTensors extras = gguf_extras(source);
  Rounding rounding;
  std::vector<GgufPlanned> planned;
  std::vector<std::pair<GgufForm, engine::Shape>> written;
  for (const TensorMove& move : moves) written.emplace_back(move.form, move.shape);
  note_partial_blocks(options.type, written, conversion.notes);
  for (const auto& [name, tensor] : extras)
    planned.push_back({name, std::nullopt, shape_of(tensor), [&tensor = tensor] { return tensor; }});
  size_t done = 0;
  for (const TensorMove& move : moves)
    planned.push_back({move.to, move.form, move.shape, [&] {
                         StoredTensor tensor =
                             moved(source.tensors(), move, target.rope_interleaved, options.importance, rounding);
                         if (options.progress) options.progress(++done, moves.size());
                         return tensor;
                       }});
  stream_gguf(path, metadata, planned);
  describe(moves, rounding, conversion);
}

/// Runs of tensors of at most `most` bytes, but for larger tensors.
std::vector<std::vector<SafetensorsPlanned>> in_shards(std::vector<SafetensorsPlanned> tensors, uint64_t most) {
  std::vector<std::vector<SafetensorsPlanned>> shards(1);
  uint64_t filled = 0;
  for (SafetensorsPlanned& tensor : tensors) {
    const auto bytes = static_cast<uint64_t>(tensor.shape.numel() * engine::size_of(tensor.dtype));
    if (!shards.back().empty() && filled + bytes > most) shards.emplace_back(), filled = 0;
    filled += bytes;
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

/// model.safetensors, or numbered shards and their index.
void write_shards(const fs::path& folder, const std::vector<std::vector<SafetensorsPlanned>>& shards) {
  const std::map<std::string, std::string> metadata{{"format", "pt"}};
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  uint64_t bytes = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shards.size() == 1 ? "model.safetensors"
                                                : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    stream_safetensors(folder / name, shards[i], metadata);
    for (const SafetensorsPlanned& tensor : shards[i]) map[tensor.name] = name;
    bytes += fs::file_size(folder / name);
  }
  const nlohmann::ordered_json index = {{"metadata", {{"total_size", bytes}}}, {"weight_map", map}};
  if (shards.size() > 1) write_file(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}

void write_folder_model(const fs::path& folder, const ModelFiles& source, const ConvertOptions& options,
                        Conversion& conversion) {
  const ConvertTarget target = target_of(source.description(), false);
  const std::vector<TensorMove> moves = plan_moves(source, target, options);
  fs::create_directory(folder);
  write_folder_files(folder, source, moves.at(0).form, conversion.notes);
  Rounding rounding;
  std::vector<SafetensorsPlanned> planned;
  size_t done = 0;
  for (const TensorMove& move : moves)
    planned.push_back({move.to, dense_dtype(move.form), move.shape, [&] {
                         auto tensor =
                             std::get<Tensor>(moved(source.tensors(), move, target.rope_interleaved, {}, rounding));
                         if (options.progress) options.progress(++done, moves.size());
                         return tensor;
                       }});
  write_shards(folder, in_shards(std::move(planned), options.shard_bytes));
  describe(moves, rounding, conversion);
}

}  // namespace

void check_type(const fs::path& to, std::optional<WeightType> type) {
  require(to.extension() == ".gguf" || !type || *type < WeightType::q8_0,
          "{}: a folder holds f32, f16 or bf16; {} is for a file that ends in .gguf", to.string(),
          type ? name_of(*type) : "");
}

const char* name_of(WeightType type) { return name_in(type_names, type); }

WeightType weight_type_named(const std::string& name) { return named_in(type_names, name, "weights", "type"); }

int64_t tensor_bytes(const ModelFiles& source, const fs::path& to, const ConvertOptions& options) {
  check_type(to, options.type);
  int64_t bytes = 0;
  for (const TensorMove& move : plan_moves(source, target_of(source.description(), to.extension() == ".gguf"), options))
    bytes += bytes_of(move);
  return bytes;
}

Conversion write_model(const ModelFiles& source, const fs::path& to, const ConvertOptions& options) {
  const bool is_gguf = to.extension() == ".gguf";
  check_type(to, options.type);
  const std::vector<std::string>& not_run = source.description().not_run;
  require(not_run.empty(), "{}: is not run here, so that no copy can be compared with it: {}", source.path().string(),
          fmt::join(not_run, "; "));
  check_target(source.path(), to, options.force);
  if (options.card) check_card(to, options.force);
  if (source.has_tokenizer()) (void)source.tokenizer();  // a wrong one is refused before anything is written
  return staged(to, options, [&](const fs::path& made, Conversion& conversion) {
    if (is_gguf) write_gguf_model(made, source, options, conversion);
    else write_folder_model(made, source, options, conversion);
    check_conversion(source, options.reference ? options.reference() : source.load(), made, conversion);
  });
}

Conversion convert_model(const fs::path& from, const fs::path& to, const ConvertOptions& options) {
  check_type(to, options.type);
  const auto source = ModelFiles::open(from);
  if (source->scheme() != NameScheme::headroom) return write_model(*source, to, options);
  // A compact model goes to files of other software at full shape.
  return export_model(
      *source, {source->description().config, {}}, ExportFormat::compat, to,
      {.type = options.type, .importance = options.importance, .force = options.force, .progress = options.progress});
}

}  // namespace headroom::models
