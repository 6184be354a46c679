#include "models/write/export.h"

#include "engine/error.h"
#include "engine/name_table.h"
#include "models/checkpoints/compact_model.h"
#include "models/files/json.h"
#include "models/write/edited_files.h"
#include "models/write/full_shape.h"
#include "models/write/write_compact.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

constexpr NameTable<ExportFormat, 3> format_names{
    {{ExportFormat::compat, "compat"}, {ExportFormat::compact, "compact"}, {ExportFormat::plain, "plain"}}};

/// True if some layer has other heads than the base's, but of their width, or lacks its heads or its network.
bool has_fewer_heads(const TransformerConfig& full, const TransformerConfig& edited) {
  bool has_fewer = false;
  for_each_layer(edited, [&](const LayerConfig& layer, int64_t) {
    has_fewer |= layer.heads() < full.groups.at(0).heads || (layer.ffn_width == 0 && full.ffn_width > 0);
  });
  return has_fewer;
}

/// Throws Error where no GGUF file holds these layers as they are.
void require_uneven_layers(const ModelFiles& base, const TransformerConfig& edited, const fs::path& to) {
  const Family& family = family_named(base.description().family);
  require(to.extension() == ".gguf" && find_gguf_family(uneven_llama)->gguf == family.gguf && edited.window == 0 &&
              base.scheme() != NameScheme::headroom,
          "layers that have fewer heads than others are held by GGUF files of llamas alone");
  require(!first_layer(edited).groups.empty(),
          "the first layer has no heads: no GGUF file says how wide those of others are");
  const HeadGroup& whole = base.full_config().groups.at(0);
  for_each_layer(edited, [&](const LayerConfig& layer, int64_t) {
    require(
        layer.groups.size() <= 1,
        "some keys of a layer are read by more query heads than others, which GGUF files cannot say: remove kv-heads");
    if (layer.groups.empty()) return;
    HeadGroup group = layer.groups[0];
    group.heads = whole.heads, group.kv_heads = whole.kv_heads;
    require(group == whole, "layers have fewer heads and narrower ones, too");
  });
}

/// The shapes that the format writes. Throws Error for what it cannot hold.
TransformerConfig shape_in(ExportFormat format, const ModelFiles& base, const TransformerConfig& edited,
                           const fs::path& to) {
  const TransformerConfig& full = base.full_config();
  if (format == ExportFormat::plain && has_fewer_heads(full, edited)) {
    require_uneven_layers(base, edited, to);
    return edited;
  }
  const Family& family = family_named(base.description().family);
  require(!family.is_fused() || base.scheme() != NameScheme::headroom,
          "GPT-2's queries, keys and values are one matrix in other files, which is not put together again");
  if (format == ExportFormat::compat) return full_shape(full, edited);
  require(family.stack != Stack::gpt2, "GPT-2's files have no width of a head: it is {} / {}", full.width,
          full.groups.at(0).heads);
  const int64_t widest = widest_head(edited);
  require(widest < full.groups.at(0).qk_dim,
          "some heads still have {} numbers: no narrower width holds them all (compress --part qk,vo with one rank "
          "cuts every head)",
          full.groups.at(0).qk_dim);
  return full_shape(full, edited, widest);
}

/// The edit in the shapes that the format writes.
ModelEdit shaped(ExportFormat format, const ModelFiles& base, const ModelEdit& edit, const fs::path& to) {
  const TransformerConfig shape = shape_in(format, base, edit.config, to);
  return shape.unequal_layers.empty() ? rebuilt(base, edit, shape) : edit;
}

/// Selects the tensors that a type applies to: the edit's, or all of a file that is not edited.
std::function<bool(const std::string&)> retyped_in(const EditedFiles& files, const ModelEdit& edit) {
  if (edit.weights.empty()) return {};
  return [&files](const std::string& name) { return files.is_changed(name); };
}

}  // namespace

const char* name_of(ExportFormat format) { return name_in(format_names, format); }

ExportFormat export_format_named(const std::string& name) { return named_in(format_names, name, "export", "format"); }

std::string loaded_by(ExportFormat format, const fs::path& to) {
  if (format == ExportFormat::compact) return "headroom";
  return to.extension() == ".gguf" ? "headroom, llama.cpp" : "headroom, transformers";
}

std::string refusal_of(ExportFormat format, const ModelFiles& base, const TransformerConfig& edited,
                       const fs::path& to) {
  try {
    if (format == ExportFormat::compact) {
      require(to.extension() != ".gguf", "a compact model is a folder, {} is the name of a GGUF file", to.string());
      ModelDescription model = base.description();
      model.config = edited;
      (void)compact_config_json(model, base.full_config());
    } else {
      const bool is_held = to.extension() != ".gguf" && family_named(base.description().family).holds_classifiers();
      require(edited.pooling == Pooling::none || is_held,
              "only folders of the Llama family and compact ones hold classifiers");
      (void)shape_in(format, base, edited, to);
    }
  } catch (const Error& error) {
    return fmt::format("format {} cannot hold this model: {}", name_of(format), error.what());
  }
  return "";
}

TransformerConfig written_config(ExportFormat format, const ModelFiles& base, const TransformerConfig& edited,
                                 const fs::path& to) {
  return format == ExportFormat::compact ? edited : shape_in(format, base, edited, to);
}

int64_t export_bytes(const ModelFiles& base, const ModelEdit& edit, ExportFormat format, const fs::path& to,
                     std::optional<WeightType> type) {
  if (format == ExportFormat::compact) return compact_bytes(base, edit, type);
  const EditedFiles files(base, shaped(format, base, edit, to));
  return tensor_bytes(files, to, {.type = type, .is_retyped = retyped_in(files, edit)});
}

std::string text_of(const ModelCard& card, const ModelFiles& base, bool is_classifier, ExportFormat format,
                    const fs::path& to, const Conversion& conversion) {
  const CardHead head{.base = base.description().name,
                      .license = license_of(base),
                      .library = format == ExportFormat::compact ? "headroom"
                                 : to.extension() == ".gguf"     ? "gguf"
                                                                 : "transformers",
                      .is_classifier = is_classifier};
  return front_matter(head, card.change) + markdown_of(card, name_of(format), loaded_by(format, to), conversion);
}

Conversion export_model(const ModelFiles& base, const ModelEdit& edit, ExportFormat format, const fs::path& to,
                        const ExportOptions& options) {
  const std::string refusal = refusal_of(format, base, edit.config, to);
  require(refusal.empty(), "{}: {}", to.string(), refusal);
  ConvertOptions convert{
      .type = options.type, .importance = options.importance, .force = options.force, .progress = options.progress};
  if (options.card)
    convert.card = [&](const Conversion& conversion) {
      return text_of(*options.card, base, edit.config.pooling != Pooling::none, format, to, conversion);
    };
  if (format == ExportFormat::compact) return write_compact(base, edit, to, convert);
  const EditedFiles files(base, shaped(format, base, edit, to));
  convert.reference = [&] { return load(base, edit); };
  convert.is_retyped = retyped_in(files, edit);
  return write_model(files, to, convert);
}

}  // namespace headroom::models
