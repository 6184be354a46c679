#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/error.h"
#include "models/adapters/adapter_files.h"
#include "models/files/atomic_file.h"
#include "models/files/staging_folder.h"
#include "models/gguf/gguf.h"
#include "models/write/convert.h"
#include "models/write/folder_files.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

/// The factors under the form's names, A before its B: llama.cpp's tools expect this order.
NamedTensors named_factors(const Adapter& adapter, const AdapterForm& form, const ModelFiles& base) {
  NamedTensors named;
  for (const auto& [name, pair] : adapter.factors) {
    std::string stem = renamed(NameScheme::headroom, form.scheme, name);
    if (form.scheme != NameScheme::gguf) stem.resize(stem.rfind(".weight"));
    named.emplace_back(form.prefix + stem + form.suffix_a, pair.a.contiguous());
    named.emplace_back(form.prefix + stem + form.suffix_b, rows_in(form, base, name, pair.b, true).contiguous());
  }
  return named;
}

/// adapter_config.json, with the keys that other versions of PEFT ask for.
std::string peft_config(const Adapter& adapter, const ModelFiles& base) {
  std::set<std::string> modules;
  for (const auto& [name, pair] : adapter.factors) {
    std::string module = renamed(NameScheme::headroom, adapter_form(base, false).scheme, name);
    module.resize(module.rfind(".weight"));
    modules.insert(module.substr(module.rfind('.') + 1));
  }
  const bool is_classifier = base.description().config.pooling != Pooling::none;
  const bool is_whole = adapter.alpha == std::floor(adapter.alpha) && adapter.alpha < 1e15;
  nlohmann::ordered_json json{{"peft_type", "LORA"},
                              {"base_model_name_or_path", base.path().string()},
                              {"r", adapter.rank},
                              {"lora_alpha", adapter.alpha},
                              {"target_modules", modules},
                              {"lora_dropout", 0.0},
                              {"bias", "none"},
                              {"fan_in_fan_out", false},
                              {"inference_mode", true},
                              {"init_lora_weights", true},
                              {"modules_to_save", nullptr}};
  if (is_whole) json["lora_alpha"] = static_cast<int64_t>(adapter.alpha);
  if (!is_classifier) json["task_type"] = "CAUSAL_LM";
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void write_files(const fs::path& made, const Adapter& adapter, const ModelFiles& base, bool is_gguf) {
  const NamedTensors factors = named_factors(adapter, adapter_form(base, is_gguf), base);
  if (is_gguf)
    return write_gguf(made,
                      {{"general.architecture", gguf_text(adapter_architecture(base))},
                       {"general.type", gguf_text("adapter")},
                       {"adapter.type", gguf_text("lora")},
                       {"adapter.lora.alpha", gguf_f32(adapter.alpha)}},
                      {factors.begin(), factors.end()});
  fs::create_directory(made);
  write_file(made / adapter_config_name, peft_config(adapter, base));
  write_safetensors(made / adapter_weights_name, factors, {{"format", "pt"}});
}

/// Throws Error unless both have the same factors.
void check_equal(const Adapter& written, const Adapter& adapter, const fs::path& to) {
  bool is_equal = written.rank == adapter.rank && written.factors.size() == adapter.factors.size();
  for (const auto& [name, pair] : adapter.factors) {
    const auto found = written.factors.find(name);
    is_equal = is_equal && found != written.factors.end() &&
               found->second.a.to_vector<float>() == pair.a.to_vector<float>() &&
               found->second.b.to_vector<float>() == pair.b.to_vector<float>();
  }
  require(is_equal, "{}: reads back as another adapter than was written", to.string());
}

}  // namespace

uint64_t write_adapter(const fs::path& to, const Adapter& adapter, const ModelFiles& base, bool force) {
  check_target(base.path(), to, force);
  const bool is_gguf = to.extension() == ".gguf";
  StagingFolder staging(to);
  const fs::path made = staging.path() / (is_gguf ? "adapter.gguf" : "adapter");
  write_files(made, adapter, base, is_gguf);
  check_equal(read_adapter(made, base), adapter, to);
  staging.publish(made.filename(), force ? Replace::allowed : Replace::never);
  return model_bytes(to);
}

}  // namespace headroom::models
