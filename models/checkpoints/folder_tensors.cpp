#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/error.h"
#include "models/checkpoints/hugging_face_folder.h"
#include "models/families/family.h"
#include "models/files/json.h"

namespace headroom::models {
namespace {

using engine::Tensor;

/// The parts of tensor names in a family.
struct NameParts {
  std::string base;       ///< before the names of all but the head in files of a language model
  std::string embedding;  ///< after it
  bool is_kept;           ///< true if our names have the base too
};
NameParts parts_of(const Family& family) {
  if (family.tensors == NameScheme::hugging_face_gpt2) return {"transformer.", "wte.weight", false};
  return {"model.", "embed_tokens.weight", true};
}

bool is_head(const std::string& name) { return name.starts_with("lm_head.") || name.starts_with("score."); }

/// The name without the wrappers that training frameworks put around modules, wherever they stand in it.
std::string unwrapped(std::string name, std::set<std::string>& removed) {
  for (const std::string wrapper : {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "module."})
    for (size_t at = 0; (at = name.find(wrapper, at)) != std::string::npos;) {
      if (at > 0 && name[at - 1] != '.') {
        ++at;
        continue;
      }
      name.erase(at, wrapper.size());
      removed.insert(wrapper);
    }
  return name;
}

/// The prefix of the embedding's name; "" if there is not exactly one such tensor, or the prefix is just the base.
std::string stem_of(const std::vector<std::string>& names, const NameParts& parts) {
  std::vector<std::string> stems;
  for (const std::string& name : names)
    if (name == parts.embedding || name.ends_with("." + parts.embedding))
      stems.push_back(name.substr(0, name.size() - parts.embedding.size()));
  return stems.size() == 1 ? stems[0] : parts.base;
}

void adopt_names(SafetensorsFolder& store, const std::filesystem::path& folder, const NameParts& parts,
                 std::vector<std::string>& warnings) {
  std::set<std::string> removed;
  store.rename([&](const std::string& name) { return unwrapped(name, removed); });
  std::string prefix = stem_of(store.names(), parts);
  const bool has_base = prefix.ends_with(parts.base);
  if (has_base) prefix.resize(prefix.size() - parts.base.size());
  const std::vector<std::string> names = store.names();
  if (!std::all_of(names.begin(), names.end(), [&](const auto& name) { return name.starts_with(prefix); })) return;
  if (!prefix.empty()) removed.insert(prefix);
  store.rename([&](const std::string& name) {
    const std::string rest = name.substr(prefix.size());
    if (is_head(rest) || has_base == parts.is_kept) return rest;
    if (parts.is_kept) return parts.base + rest;
    return rest.starts_with(parts.base) ? rest.substr(parts.base.size()) : rest;
  });
  if (!removed.empty())
    warnings.push_back(fmt::format("{}: the names of the tensors are read without {}", folder.string(),
                                   fmt::join(removed, " and without ")));
}

/// True if two matrices of one shape hold the same numbers.
bool are_equal(const Tensor& a, const Tensor& b) {
  constexpr int64_t step = 1024;
  for (int64_t row = 0; row < a.dim(0); row += step) {
    const int64_t end = std::min(a.dim(0), row + step);
    Tensor x = a.slice(0, row, end), y = b.slice(0, row, end);
    if (x.dtype() != y.dtype()) x = x.to(engine::DType::f64), y = y.to(engine::DType::f64);
    if (std::memcmp(x.raw(), y.raw(), static_cast<size_t>(x.numel() * engine::size_of(x.dtype()))) != 0) return false;
  }
  return true;
}

void settle_head(SafetensorsFolder& store, const std::filesystem::path& folder, const std::string& embedding,
                 ModelDescription& model) {
  const std::string head = "lm_head.weight";
  if (model.config.pooling != Pooling::none) return;
  if (!model.config.tied) {
    if (!store.contains(head) && model.not_run.empty())
      model.not_run.push_back(fmt::format(
          "tie_word_embeddings is false and there is no {}: if the embedding is the head, set it to true in {}", head,
          (folder / "config.json").string()));
    return;
  }
  if (!store.contains(head)) return;
  if (!store.contains(embedding))
    return store.rename([&](const std::string& name) { return name == head ? embedding : name; });
  const bool is_copy = store.shape(head) == store.shape(embedding) &&
                       are_equal(std::get<Tensor>(store.read(head)), std::get<Tensor>(store.read(embedding)));
  store.release(head), store.release(embedding);
  if (is_copy) return store.drop(head);
  model.config.tied = false;
  model.warnings.push_back(
      fmt::format("{}: {} differs from {}, and tie_word_embeddings in config.json says that they are one: the head is "
                  "used, as transformers 5 does",
                  store.place(head), head, embedding));
}

}  // namespace

std::shared_ptr<const SafetensorsFolder> folder_tensors(const std::filesystem::path& folder, ModelDescription& model) {
  auto store = std::make_shared<SafetensorsFolder>(folder);
  const NameParts parts = parts_of(family_named(model.family));
  adopt_names(*store, folder, parts, model.warnings);
  settle_head(*store, folder, (parts.is_kept ? parts.base : "") + parts.embedding, model);
  model.warnings.insert(model.warnings.end(), store->notes().begin(), store->notes().end());
  return store;
}

}  // namespace headroom::models
