#include "models/checkpoints/not_a_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/error.h"
#include "models/files/entries_of.h"
#include "models/files/json.h"
#include "models/files/other_kind.h"
#include "models/files/temporary_name.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none);
}

/// The wanted entries of a folder, in alphabetical order.
std::vector<std::string> found_in(const fs::path& folder, const std::function<bool(const fs::path&)>& is_wanted) {
  std::vector<std::string> found;
  for (const fs::path& path : entries_if_any(folder))
    if (is_wanted(path)) found.push_back(path.string());
  return found;
}

std::vector<std::string> with_ending(const fs::path& folder, const std::string& ending) {
  return found_in(folder, [&](const fs::path& path) { return path.extension() == ending; });
}

bool is_model(const fs::path& path) { return path.extension() == ".gguf" || is_there(path / "config.json"); }

/// "a, b or c", of at most a few.
std::string either(const std::vector<std::string>& names) {
  constexpr size_t most = 8;
  const std::vector<std::string> some(names.begin(), names.begin() + std::min(names.size(), most));
  return fmt::format("{}{}", fmt::join(some, " or "), names.size() > most ? " …" : "");
}

void refuse_adapter(const fs::path& folder) {
  if (!is_there(folder / "adapter_config.json")) return;
  std::string base = "its base model";
  try {
    const nlohmann::json config = read_optional_object(folder / "adapter_config.json");
    const std::string name = config.value("base_model_name_or_path", "");
    if (!name.empty()) base += " " + quoted_name(name);
  } catch (const std::exception&) {  // the adapter is none the less one
  }
  fail("{}: is an adapter (PEFT, LoRA) without {}: name that as MODEL, and this with --adapter", folder.string(), base);
}

}  // namespace

void complain_of_folder(const fs::path& folder) {
  const std::string name = folder.string(), no_config = "is not a model's folder: it has no config.json";
  refuse_adapter(folder);
  std::vector<std::string> found = with_ending(folder, ".gguf");
  require(found.empty(), "{}: {}, but holds {}: name the file, {}", name, no_config,
          found.size() == 1 ? "a GGUF file" : "GGUF files", either(found));
  found = found_in(folder / "snapshots", is_model);
  require(found.empty(), "{}: is a model's place in the Hugging Face hub's cache: name the snapshot in it, {}", name,
          either(found));
  found = found_in(folder, is_model);
  require(found.empty(), "{}: {}, but there is {} in it: name {}", name, no_config,
          found.size() == 1 ? "a model" : "more than one model", either(found));
  require(!is_there(folder / "manifests") || !is_there(folder / "blobs"),
          "{}: is a store of Ollama's: 'ollama show --modelfile NAME' prints the file to name, blobs/sha256-…", name);
  require(
      !is_there(folder / "params.json"),
      "{}: has a model in its maker's own form (params.json): fetch or convert the Hugging Face form, with config.json",
      name);
  require(with_ending(folder, ".safetensors").empty(),
          "{}: {}, which says how its weights are put together: fetch it from where they came", name, no_config);
  require(!is_there(folder / "tokenizer.json") && !is_there(folder / "tokenizer.model"),
          "{}: has a tokenizer alone: {}; fetch that, and the weights, from where it came", name, no_config);
  fail("{}: {}; expected a GGUF file, or a folder with config.json, model.safetensors and the tokenizer's files", name,
       no_config);
}

void complain_of_weights(const fs::path& folder) {
  const std::string name = folder.string(),
                    neither = "holds neither model.safetensors nor model.safetensors.index.json";
  refuse_adapter(folder);
  std::vector<std::string> found = with_ending(folder, ".safetensors");
  require(found.size() < 2,
          "{}: has parts of a model's weights, but not model.safetensors.index.json, which says what "
          "is in which: fetch it from where they came",
          name);
  require(found.empty(), "{}: {}: name {} so, if that is the model's weights", name, neither, either(found));
  for (const char* ending : {".bin", ".pt", ".pth", ".ckpt"}) {
    found = with_ending(folder, ending);
    require(found.empty(), "{}: has its weights as PyTorch pickles alone ({}), which are not read: {}", name,
            fs::path(found.empty() ? "" : found.front()).filename().string(), pytorch_remedy);
  }
  found = with_ending(folder, ".gguf");
  require(found.empty(), "{}: {}, but {}: name the file, {}", name, neither,
          found.size() == 1 ? "a GGUF file" : "GGUF files", either(found));
  fail("{}: {}: fetch the weights from where config.json came", name, neither);
}

void complain_of_missing(const fs::path& path) {
  const std::string name = path.empty() ? "''" : path.string();
  require(
      name.find("://") == std::string::npos && !name.starts_with("hf.co/"),
      "{}: is an address, and nothing is downloaded: fetch the model ('hf download' of huggingface_hub, or curl), and "
      "name its file or folder",
      name);
  const size_t slash = name.find('/');
  const bool is_hub_name = path.extension() != ".gguf" && slash != std::string::npos && slash > 0 && name[0] != '.' &&
                           name.find('/', slash + 1) == std::string::npos && slash + 1 < name.size();
  const std::string missing = "there is no such model: expected a Hugging Face folder or a GGUF file";
  fail("{}: {}{}", name, missing,
       is_hub_name ? fmt::format("; if that is its name on the Hugging Face hub, 'hf download {} --local-dir DIR' "
                                 "fetches it, and DIR is what to name",
                                 name)
                   : "");
}

void complain_of_weights_alone(const fs::path& file) {
  const fs::path folder = folder_of(file);
  if (!is_there(folder / "config.json")) refuse_adapter(folder);
  fail("{}: has a model's weights alone: {}", file.string(),
       is_there(folder / "config.json") ? fmt::format("name its folder, {}, which has config.json", folder.string())
                                        : "name a folder that has it beside config.json and the tokenizer's files");
}

}  // namespace headroom::models
