#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <set>

#include "engine/error.h"
#include "engine/finite.h"
#include "models/adapters/adapter_files.h"
#include "models/gguf/gguf.h"
#include "models/hugging_face/fields.h"
#include "models/safetensors/safetensors.h"
#include "models/write/folder_files.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

/// What an adapter's header says of all its factors.
struct AdapterHeader {
  std::optional<int64_t> rank{};  ///< nullopt: as the factors have it
  std::optional<double> alpha{};  ///< nullopt: the rank, so that the scale is 1
};

/// True for a value that asks for nothing.
bool is_neutral(const nlohmann::json& value) {
  return value.is_null() || value == false || (value.is_string() && value.get_ref<const std::string&>().empty()) ||
         (value.is_structured() && value.empty());
}

/// Reads adapter_config.json. Throws Error for each key that changes what the adapter computes.
AdapterHeader peft_header(const fs::path& file) {
  const nlohmann::json json = read_json(file);
  const ConfigFields in(json, file.string());
  if (in.text("peft_type") != "LORA") in.complain("peft_type", "expected LORA, got " + shown(json["peft_type"]));
  if (in.has("bias") && json["bias"] != "none") in.complain("bias", "expected none, got " + shown(json["bias"]));
  // Others change the base's weights, too.
  static const std::set<nlohmann::json> inits{true, false, "gaussian", "orthogonal", "eva"};
  if (in.has("init_lora_weights") && !inits.contains(json["init_lora_weights"]))
    in.complain("init_lora_weights", "expected true, false, gaussian, orthogonal or eva, got " +
                                         shown(json["init_lora_weights"]) + ", which changes the base's weights");
  AdapterHeader header{in.count("r"), in.positive("lora_alpha", 8)};
  if (in.flag("use_rslora", false)) *header.alpha *= std::sqrt(static_cast<double>(*header.rank));
  // Matter to training alone, or say what the tensors' names say.
  for (const char* key :
       {"auto_mapping", "base_model_name_or_path", "ensure_weight_tying", "eva_config", "exclude_modules",
        "inference_mode", "layers_pattern", "layers_to_transform", "lora_dropout", "megatron_core", "peft_version",
        "qalora_group_size", "revision", "runtime_config", "target_modules", "task_type"})
    (void)in.has(key);
  for (const auto& [key, value] : in.unread())
    require(is_neutral(value), "{}: {}: got {}, which is not applied here; expected an adapter without it",
            file.string(), quoted_name(key), shown(value));
  return header;
}

AdapterHeader gguf_header(const GgufFile& file, const ModelFiles& base) {
  const GgufMetadata& metadata = file.metadata();
  const auto expect = [&](const char* key, const std::string& wanted) {
    const std::string found = metadata.text(key);
    if (found != wanted) metadata.complain(key, fmt::format("expected {}, got {}", wanted, quoted_name(found)));
  };
  expect("general.type", "adapter");
  expect("adapter.type", "lora");
  expect("general.architecture", adapter_architecture(base));
  if (metadata.contains("adapter.alora.invocation_tokens"))
    metadata.complain("adapter.alora.invocation_tokens", "the adapter is for some tokens alone, which is not applied");
  if (!metadata.contains("adapter.lora.alpha")) return {};
  return {.alpha = metadata.positive("adapter.lora.alpha")};
}

/// Puts an adapter together from its tensors, in any order.
class AdapterReader {
 public:
  AdapterReader(const TensorStore& tensors, const AdapterForm& form, const ModelFiles& base)
      : tensors_(tensors), form_(form), base_(base) {}

  Adapter read(const AdapterHeader& header, const std::string& file) const {
    Adapter adapter;
    for (const std::string& name : tensors_.names()) add(adapter, name);
    require(!adapter.factors.empty(), "{}: holds no factors", file);
    const auto& [first, pair] = *adapter.factors.begin();
    adapter.rank = header.rank.value_or(pair.a.defined() ? pair.a.dim(0) : pair.b.dim(1));
    adapter.alpha = header.alpha.value_or(static_cast<double>(adapter.rank));
    for (auto& [name, factors] : adapter.factors) check(adapter, name, factors, file);
    return adapter;
  }

 private:
  void add(Adapter& adapter, const std::string& name) const {
    const std::string at = fmt::format("{}: tensor {}", tensors_.place(name), quoted_name(name));
    const bool is_a = name.ends_with(form_.suffix_a);
    require(name.starts_with(form_.prefix) && (is_a || name.ends_with(form_.suffix_b)),
            "{}: is no factor of an adapter; expected {}NAME{} or {}NAME{}", at, form_.prefix, form_.suffix_a,
            form_.prefix, form_.suffix_b);
    const std::string_view prefix = form_.prefix, suffix = is_a ? form_.suffix_a : form_.suffix_b;
    std::string theirs = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    if (!theirs.ends_with(".weight")) theirs += ".weight";
    const std::string ours = our_name(theirs);
    require(!adapter_part_of(ours).empty(), "{}: changes a matrix that adapters cannot change here; expected {}", at,
            fmt::join(adapter_parts(), ", "));
    const std::string changed = adapted_tensor(base_, ours);
    require(!changed.empty(), "{}: {} has no such matrix", at, base_.path().string());
    const Shape shape = tensors_.shape(name), whole = base_.tensors().shape(changed);
    require(shape.rank() == 2 && shape[is_a ? 1 : 0] == whole[is_a ? 1 : 0],
            "{}: is {}, which does not fit {} {} of {}: expected {}", at, shape.str(), changed, whole.str(),
            base_.path().string(), is_a ? fmt::format("(rank, {})", whole[1]) : fmt::format("({}, rank)", whole[0]));
    Tensor& factor = is_a ? adapter.factors[ours].a : adapter.factors[ours].b;
    require(!factor.defined(), "{}: is there twice", at);
    factor = values_of(name, at);
    if (!is_a) factor = rows_in(form_, base_, ours, factor, false);
  }

  /// Our name of a matrix; "" if we have none.
  std::string our_name(const std::string& theirs) const {
    try {
      return renamed(form_.scheme, NameScheme::headroom, theirs);
    } catch (const Error&) {
      return "";
    }
  }

  Tensor values_of(const std::string& name, const std::string& at) const {
    const StoredTensor stored = tensors_.read(name);
    const auto bad = std::visit([](const auto& x) { return first_not_finite(x); }, stored);
    require(!bad, "{}: holds {}", at, bad.value_or(""));
    if (const auto* blocks = std::get_if<engine::QuantizedMatrix>(&stored)) return blocks->dequantize();
    const auto& numbers = std::get<Tensor>(stored);
    require(engine::is_floating(numbers.dtype()), "{}: is {}, expected real numbers", at, numbers.str());
    return numbers.to(engine::DType::f32).contiguous().clone();
  }

  static void check(const Adapter& adapter, const std::string& name, const AdapterFactors& pair,
                    const std::string& file) {
    require(pair.a.defined() && pair.b.defined(), "{}: has {} alone of {}", file, pair.a.defined() ? "A" : "B", name);
    require(pair.a.dim(0) == adapter.rank && pair.b.dim(1) == adapter.rank,
            "{}: the factors of {} are A {} and B {}; expected rank {}, as all others", file, name,
            pair.a.shape().str(), pair.b.shape().str(), adapter.rank);
  }

  const TensorStore& tensors_;
  const AdapterForm& form_;
  const ModelFiles& base_;
};

/// One safetensors file as a store.
class AdapterTensors : public TensorStore {
 public:
  explicit AdapterTensors(const fs::path& path) : file_(path) {}
  std::vector<std::string> names() const override { return file_.names(); }
  bool contains(const std::string& name) const override { return file_.contains(name); }
  engine::Shape shape(const std::string& name) const override { return file_.entry(name).shape; }
  std::string type(const std::string& name) const override { return safetensors_name(file_.entry(name).dtype); }
  StoredTensor read(const std::string& name) const override { return file_.mapped(name); }
  void release(const std::string& name) const override { file_.release(name); }
  std::string place(const std::string&) const override { return file_.path().string(); }

 private:
  SafetensorsFile file_;
};

}  // namespace

AdapterForm adapter_form(const ModelFiles& base, bool is_gguf) {
  const Family& family = family_named(base.description().family);
  if (is_gguf) return {NameScheme::gguf, family.interleaved_in_gguf, "", ".lora_a", ".lora_b"};
  return {family.tensors, false, "base_model.model.", ".lora_A.weight", ".lora_B.weight"};
}

std::string adapter_architecture(const ModelFiles& base) {
  const std::string family(family_named(base.description().family).gguf);
  return base.metadata() ? base.metadata()->text("general.architecture", family) : family;
}

Tensor rows_in(const AdapterForm& form, const ModelFiles& base, const std::string& name, const Tensor& b,
               bool to_form) {
  const TransformerConfig& config = base.description().config;
  const bool turns = config.rope_interleaved != form.rope_interleaved && has_turned_rows(NameScheme::headroom, name);
  if (!turns) return b;
  return turned(b, b.dim(0) / first_group(config).qk_dim, to_form ? form.rope_interleaved : config.rope_interleaved);
}

Adapter read_adapter(const fs::path& path, const ModelFiles& base) {
  require_adaptable(base);
  std::error_code unreadable;
  if (fs::is_directory(path, unreadable)) {
    const fs::path config = path / adapter_config_name, weights = path / adapter_weights_name;
    require(fs::exists(config, unreadable), "{}: is no adapter: it has no {}", path.string(), adapter_config_name);
    const AdapterHeader header = peft_header(config);
    require(fs::exists(weights, unreadable) || !fs::exists(path / "adapter_model.bin", unreadable),
            "{}: has its factors as a PyTorch pickle (adapter_model.bin), which is not read: save the adapter as "
            "safetensors",
            path.string());
    const AdapterTensors tensors(weights);
    return AdapterReader(tensors, adapter_form(base, false), base).read(header, weights.string());
  }
  require(path.extension() != ".safetensors", "{}: is the weights of an adapter alone: name its folder", path.string());
  const GgufFile file(path);
  const AdapterHeader header = gguf_header(file, base);
  return AdapterReader(file, adapter_form(base, true), base).read(header, path.string());
}

}  // namespace headroom::models
