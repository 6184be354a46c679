#pragma once
#include <filesystem>
#include <string>

#include "models/checkpoints/model_edit.h"
#include "models/write/convert.h"
#include "models/write/model_card.h"

namespace headroom::models {

/// How an edited model is written.
///   compat   at the full shapes of the base: a GGUF file or a Hugging Face folder that other software loads; computes
///            as much as the base
///   compact  as it is, in our own schema (write_compact.h): loads here, computes less
///   plain    as compat, with narrower heads, where all of them fit one width and turn as heads of that width do, or in
///            GGUF files of llamas with fewer of them, or none, in some layers: loads in other software and computes
///            less
enum class ExportFormat { compat, compact, plain };
const char* name_of(ExportFormat format);
/// The format with that name. Throws Error that lists the known ones.
ExportFormat export_format_named(const std::string& name);

/// The reason why a model with that config, made from the base, cannot be written in that format under that name; "" if
/// it can. Needs only shapes, so it can be called before anything is computed.
std::string refusal_of(ExportFormat format, const ModelFiles& base, const TransformerConfig& edited,
                       const std::filesystem::path& to);

/// The software that loads such a model: "headroom, transformers".
std::string loaded_by(ExportFormat format, const std::filesystem::path& to);

/// The card, with its head, of a model that was made of the base and written to `to`.
std::string text_of(const ModelCard& card, const ModelFiles& base, bool is_classifier, ExportFormat format,
                    const std::filesystem::path& to, const Conversion& conversion);

struct ExportOptions {
  /// The type of the edit's matrices, f32 by default; the base's stay as stored. Applies to all matrices if the edit
  /// has no weights, and in a Hugging Face folder, which has one dtype.
  std::optional<WeightType> type{};
  ImportanceOf importance = {};                       ///< of the base's matrices; see ConvertOptions
  bool force = false;                                 ///< an existing `to` may be replaced
  std::function<void(size_t, size_t)> progress = {};  ///< called after each tensor with (done, total)
  std::optional<ModelCard> card{};                    ///< written next to the weights; see ConvertOptions::card
};

/// The shapes of the matrices that the format writes: compat's are the base's, of whatever rank they are. Throws Error
/// with refusal_of().
TransformerConfig written_config(ExportFormat format, const ModelFiles& base, const TransformerConfig& edited,
                                 const std::filesystem::path& to);

/// The bytes of the tensors export_model() would write with that type. Throws Error as it does for shapes.
int64_t export_bytes(const ModelFiles& base, const ModelEdit& edit, ExportFormat format,
                     const std::filesystem::path& to, std::optional<WeightType> type);

/// Writes base and edit to `to`: a GGUF file if the name ends in ".gguf", else a folder. Reads it back and compares its
/// logits with those of load(base, edit) before `to` appears. Throws Error with refusal_of(), and as write_model().
Conversion export_model(const ModelFiles& base, const ModelEdit& edit, ExportFormat format,
                        const std::filesystem::path& to, const ExportOptions& options = {});

}  // namespace headroom::models
