#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "engine/error.h"
#include "models/checkpoints/gguf_keys.h"
#include "models/checkpoints/model_files.h"
#include "models/files/json.h"
#include "models/gguf/gguf.h"
#include "models/rope_cache.h"
#include "models/tokenizers/text_start.h"
#include "models/validate.h"

namespace headroom::models {
namespace {

/// The keys of one architecture: "llama.block_count". It remembers which were asked for.
class ArchitectureKeys {
 public:
  ArchitectureKeys(const GgufFile& file, std::string architecture)
      : file_(file), metadata_(file.metadata()), architecture_(std::move(architecture)) {}
  std::string key(const char* name) const { return architecture_ + "." + name; }
  bool has(const char* name) const { return metadata_.contains(asked(name)); }
  int64_t count(const char* name) const { return metadata_.count(asked(name)); }
  int64_t count(const char* name, int64_t otherwise) const { return metadata_.count(asked(name), otherwise); }
  double positive(const char* name) const { return metadata_.positive(asked(name)); }
  double positive(const char* name, double otherwise) const { return metadata_.positive(asked(name), otherwise); }
  /// For each layer, true if it has a window: from a list, or from the interval between layers without one.
  std::vector<bool> windows(const char* name, int64_t layers, int64_t otherwise) const {
    std::vector<bool> out;
    if (const auto* list = list_of(name, layers))
      for (const int64_t number : *list) out.push_back(number != 0);
    else
      for (int64_t i = 0, every = count(name, otherwise); i < layers; ++i) out.push_back((i + 1) % every != 0);
    return out;
  }
  /// A number for each layer, which may be 0: a list, or one for all.
  std::vector<int64_t> per_layer(const char* name, int64_t layers) const {
    if (layers > std::ssize(file_.names()))
      complain("block_count", fmt::format("{} layers of {} tensors", layers, file_.names().size()));
    const auto* list = list_of(name, layers);
    if (list == nullptr) return std::vector<int64_t>(static_cast<size_t>(layers), count(name));
    for (const int64_t number : *list)
      if (number < 0 || number > int64_t{1} << 40) complain(name, fmt::format("{} is no count", number));
    return *list;
  }
  std::string text(const char* name, const char* otherwise) const { return metadata_.text(asked(name), otherwise); }
  /// The verdict on keys that nothing asked for.
  UnreadKeys unread() const { return judged_gguf_keys(metadata_, architecture_ + ".", asked_); }
  [[noreturn]] void complain(const char* name, const std::string& message) const {
    metadata_.complain(key(name), message);
  }
  /// True if some layer has a tensor of that name. `layers`: as the file says, which may be too many.
  bool has_in_layers(int64_t layers, const std::string& name) const {
    const int64_t most = std::min(layers, std::ssize(file_.names()));  // a layer has a tensor, or more
    for (int64_t layer = 0; layer < most; ++layer)
      if (file_.contains(fmt::format("blk.{}.{}", layer, name))) return true;
    return false;
  }

 private:
  std::string asked(const char* name) const { return *asked_.insert(key(name)).first; }
  /// The numbers of a list of whole ones, one for each layer; null if the key holds no list.
  const std::vector<int64_t>* list_of(const char* name, int64_t layers) const {
    const auto found = metadata_.all().find(asked(name));
    if (found == metadata_.all().end() || !found->second.is_array) return nullptr;
    const std::vector<int64_t>& list = metadata_.integers(key(name));
    if (std::ssize(list) != layers) complain(name, fmt::format("has {} entries for {} layers", list.size(), layers));
    return &list;
  }

  const GgufFile& file_;
  const GgufMetadata& metadata_;
  std::string architecture_;
  mutable std::set<std::string> asked_;
};

HeadGroup heads_of(const ArchitectureKeys& in, int64_t width) {
  HeadGroup group;
  group.heads = in.count("attention.head_count");
  const int64_t shared = in.count("attention.head_count_kv", group.heads);
  if (group.heads % shared != 0)
    in.complain("attention.head_count_kv", fmt::format("{} does not divide head_count = {}", shared, group.heads));
  group.kv_heads = shared == group.heads ? 0 : shared;
  if (!in.has("attention.key_length") && width % group.heads != 0)
    in.complain("attention.head_count",
                fmt::format("{} does not divide embedding_length = {}, and key_length is missing", group.heads, width));
  group.qk_dim = in.count("attention.key_length", std::max<int64_t>(1, width / group.heads));
  group.v_dim = in.count("attention.value_length", group.qk_dim);
  return group;
}

/// The heads of llamas whose layers differ, which are of one width: as many as a layer has at most, until
/// spread_layers().
HeadGroup widths_of_heads(const ArchitectureKeys& in, int64_t layers) {
  const std::vector<int64_t> heads = in.per_layer("attention.head_count", layers);
  HeadGroup group;
  group.heads = *std::max_element(heads.begin(), heads.end());
  if (group.heads == 0) in.complain("attention.head_count", "is 0 in every layer");
  group.qk_dim = in.count("attention.key_length");
  group.v_dim = in.count("attention.value_length", group.qk_dim);
  return group;
}

/// Gives each layer the heads and the network that it has.
void spread_layers(const ArchitectureKeys& in, ModelDescription& model) {
  TransformerConfig& c = model.config;
  const std::vector<int64_t> heads = in.per_layer("attention.head_count", c.layers),
                             keys = in.per_layer("attention.head_count_kv", c.layers),
                             widths = in.per_layer("feed_forward_length", c.layers);
  for (size_t i = 0; i < heads.size(); ++i) {
    LayerConfig& layer = c.unequal_layers.emplace_back(LayerConfig{.groups = {}, .ffn_width = widths[i]});
    if (heads[i] == 0) continue;
    if (keys[i] == 0)
      model.not_run.push_back(
          fmt::format("{}: the attention of layer {} is one matrix", in.key("attention.head_count_kv"), i));
    else if (heads[i] % keys[i] != 0)
      in.complain("attention.head_count_kv",
                  fmt::format("{} of layer {} does not divide its head_count = {}", keys[i], i, heads[i]));
    layer.groups = c.groups;
    layer.groups[0].heads = heads[i], layer.groups[0].kv_heads = keys[i] == heads[i] ? 0 : keys[i];
  }
  c.groups.clear();
}

/// A tensor of divisors of frequencies.
std::vector<double> read_divisors(const GgufFile& file, const char* name, const HeadGroup& group) {
  const StoredTensor stored = file.read(name);
  const auto* divisors = std::get_if<engine::Tensor>(&stored);
  require(
      divisors && divisors->shape() == Shape{group.qk_dim / 2} && divisors->dtype() == engine::DType::f32,
      "{}: tensor '{}' is {} {}, expected f32 ({}): one divisor for each pair of numbers of a head, and the {} heads "
      "have a head_dim of {}",
      file.path().string(), name, file.type(name), file.shape(name).str(), group.qk_dim / 2, group.heads, group.qk_dim);
  std::vector<double> values = divisors->to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i)
    require(values[i] > 0, "{}: tensor '{}': element {} is {}, expected above 0", file.path().string(), name, i,
            values[i]);
  return values;
}

/// Reads the scaling as llama.cpp does: yarn with its own bounds of turns, times what it multiplies turned rows by.
void read_rope_scaling(const GgufFile& file, const ArchitectureKeys& in, const Family& family,
                       ModelDescription& model) {
  TransformerConfig& c = model.config;
  RopeScaling& s = c.rope_scaling;
  // A factor without a kind is linear.
  const std::string kind = in.text("rope.scaling.type", in.has("rope.scaling.factor") ? "linear" : "none");
  s.attention_factor = in.positive("rope.scaling.attn_factor", 1);
  if (kind == "linear") {
    s.kind = RopeScalingKind::linear, s.factor = in.positive("rope.scaling.factor");
  } else if (kind == "yarn" && family.stack != Stack::gemma) {
    s.kind = RopeScalingKind::yarn, s.factor = in.positive("rope.scaling.factor");
    s.low = yarn_slow, s.high = yarn_fast;
    s.original_length = in.count("rope.scaling.original_context_length", c.max_length);
    s.attention_factor *= yarn_attention(s.factor);
  } else if (kind == "longrope" && family.divisors_in_gguf) {
    s.kind = RopeScalingKind::longrope;
    s.original_length = in.count("rope.scaling.original_context_length", c.max_length);
    s.factor = std::max(1.0, static_cast<double>(c.max_length) / static_cast<double>(s.original_length));
    s.short_factors = read_divisors(file, "rope_factors_short.weight", c.groups[0]);
    s.long_factors = read_divisors(file, "rope_factors_long.weight", c.groups[0]);
  } else if (kind != "none") {
    model.not_run.push_back(fmt::format("{}: {} is not computed", in.key("rope.scaling.type"), quoted_name(kind)));
  }
}

void read_rope(const GgufFile& file, const ArchitectureKeys& in, const Family& family, ModelDescription& model) {
  TransformerConfig& c = model.config;
  c.positions = Positions::rope;
  c.rope_base = in.positive("rope.freq_base", 10000);
  const int64_t turned = in.count("rope.dimension_count", c.groups[0].qk_dim);
  if (turned != c.groups[0].qk_dim)
    model.not_run.push_back(fmt::format("{}: {} of a head's {} dimensions turn, here all do",
                                        in.key("rope.dimension_count"), turned, c.groups[0].qk_dim));
  read_rope_scaling(file, in, family, model);
  const char* own = "rope_freqs.weight";  // Llama 3.1's and later
  if (!file.contains(own)) return;
  HeadGroup& group = c.groups[0];
  const std::vector<double> divisors = read_divisors(file, own, group);
  std::vector<double> frequencies = rope_frequencies(c, group, 0);
  for (size_t i = 0; i < divisors.size(); ++i) frequencies[i] /= divisors[i];
  group.rope_frequencies = frequencies;
}

void read_llama(const GgufFile& file, const ArchitectureKeys& in, const Family& family, ModelDescription& model) {
  TransformerConfig& c = model.config;
  c.norm = Norm::rms_norm;
  c.norm_eps = in.positive("attention.layer_norm_rms_epsilon");
  c.activation = Activation::swiglu;
  c.attention_bias = c.ffn_bias = false;
  const auto has_bias = [&](const char* name) { return in.has_in_layers(c.layers, fmt::format("{}.bias", name)); };
  c.q_bias = has_bias("attn_q"), c.k_bias = has_bias("attn_k"), c.v_bias = has_bias("attn_v");
  c.o_bias = has_bias("attn_output");
  c.ffn_bias = has_bias("ffn_up");
  c.qk_norm = in.has_in_layers(c.layers, "attn_q_norm.weight");
  read_rope(file, in, family, model);
  c.rope_interleaved = family.interleaved_in_gguf;
  if (in.has("attention.sliding_window")) c.window = in.count("attention.sliding_window");
}

/// Reads what Gemma's models add to Llama's. Source: llama.cpp's models of gemma3: every sixth layer has no window, and
/// the others turn by a base of 10000; later files name both.
void read_gemma(const ArchitectureKeys& in, TransformerConfig& c) {
  c.activation = Activation::geglu;
  c.norm_place = NormPlace::both;
  c.embedding_scale = std::sqrt(static_cast<double>(c.width));
  c.window_rope_base = in.positive("rope.freq_base_swa", 10000);
  constexpr int64_t layers_of_27b = 62;  // whose queries are scaled by the width of a head as wide as width / heads
  if (c.layers == layers_of_27b && c.width / c.groups[0].heads != c.groups[0].qk_dim)
    c.logit_scale = 1 / std::sqrt(static_cast<double>(c.width / c.groups[0].heads));
  const std::vector<bool> windows = in.windows("attention.sliding_window_pattern", c.layers, 6);
  for (size_t i = 0; i < windows.size() && c.window > 0; ++i)
    if (!windows[i]) c.full_layers.push_back(static_cast<int64_t>(i));
  if (std::ssize(c.full_layers) == c.layers) c.window = 0, c.full_layers.clear();
}

void read_gpt2(const ArchitectureKeys& in, ModelDescription& model) {
  TransformerConfig& c = model.config;
  c.norm_eps = in.positive("attention.layer_norm_epsilon");
  c.activation = Activation::gelu_tanh;
}

void read_specials(const GgufMetadata& metadata, ModelDescription& model) {
  const int64_t vocab = model.config.vocab;
  TextStart start = text_start_of_gguf(metadata, vocab);
  const auto usual = gguf_usual_id(metadata, false);
  if (const auto id = gguf_special(metadata, "eos", vocab, usual, start.notes)) model.eos.push_back(*id);
  if (const auto id = gguf_special(metadata, "eot", vocab, std::nullopt, start.notes)) model.eos.push_back(*id);
  for (const std::string& note : start.notes) model.warnings.push_back(note);
  model.bos = start.bos, model.add_bos = start.begin.has_value(), model.text_end = start.end;
  model.chat_template = metadata.text("tokenizer.chat_template", "");
}

class GgufModel : public ModelFiles {
 public:
  explicit GgufModel(std::shared_ptr<const GgufFile> file)
      : ModelFiles(file->path(), describe_gguf(*file)), file_(std::move(file)) {}
  const TensorStore& tensors() const override { return *file_; }
  NameScheme scheme() const override { return NameScheme::gguf; }
  const GgufMetadata* metadata() const override { return &file_->metadata(); }
  std::unique_ptr<WeightSource> weights(const LoadOptions& options) const override {
    return std::make_unique<PretrainedWeights>(file_, NameScheme::gguf, options.keep, options.weights,
                                               family_named(description().family).is_fused());
  }
  bool has_tokenizer() const override { return file_->metadata().contains("tokenizer.ggml.model"); }
  Vocabulary vocabulary() const override { return gguf_vocabulary(file_->metadata(), description().name, path()); }

 private:
  std::shared_ptr<const GgufFile> file_;
};

/// Throws Error for GGUF files that are not of a whole language model.
void require_model(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata();
  const std::string type = metadata.text("general.type", "model"),
                    architecture = metadata.text("general.architecture", "");
  const std::string name = file.path().string();
  require(type != "adapter", "{}: is a LoRA adapter: name its base model as MODEL, and this with --adapter", name);
  require(type != "mmproj" && architecture != "clip",
          "{}: is the part of a model that reads images (mmproj): name the file of its language model", name);
  require(type != "imatrix" && architecture != "imatrix" && architecture != "controlvector",
          "{}: is {}, not a model: name the model that it was made for", name,
          architecture == "controlvector" ? "a control vector" : "an importance matrix");
  require(!file.names().empty() || architecture.empty(), "{}: has a tokenizer or settings alone, no weights", name);
}

}  // namespace

ModelDescription describe_gguf(const GgufFile& file) {
  require_model(file);
  const std::string source = file.path().string();
  ModelDescription model;
  const std::string architecture = file.metadata().text("general.architecture");
  const Family* family = find_gguf_family(architecture);
  if (!family)
    file.metadata().complain("general.architecture",
                             fmt::format("expected one of {}, got {}", gguf_family_names(), quoted_name(architecture)));
  const ArchitectureKeys in(file, architecture);
  model.family = family->name;
  model.name = file.metadata().text("general.name", file.path().stem().string());
  TransformerConfig& c = model.config;
  c.causal = true;
  c.layers = in.count("block_count");
  c.width = in.count("embedding_length");
  const bool is_uneven = architecture == uneven_llama;
  if (!is_uneven) c.ffn_width = in.count("feed_forward_length");
  c.groups = {is_uneven ? widths_of_heads(in, c.layers) : heads_of(in, c.width)};
  c.max_length = model.context = in.count("context_length");
  c.vocab = c.output_dim = file.shape("token_embd.weight")[0];
  c.tied = !file.contains("output.weight");
  c.readout_bias = false;
  if (family->stack == Stack::gpt2) read_gpt2(in, model);
  else read_llama(file, in, *family, model);
  if (family->stack == Stack::gemma) read_gemma(in, c);
  if (is_uneven) spread_layers(in, model);
  const UnreadKeys keys = in.unread();
  model.not_run.insert(model.not_run.end(), keys.refused.begin(), keys.refused.end());
  if (!keys.ignored.empty()) model.warnings.push_back(ignored_text(source, keys, "llama.cpp"));
  if (file.trailing_bytes() > 0)
    model.warnings.push_back(
        fmt::format("{}: the last {} bytes belong to no tensor, and are not read", source, file.trailing_bytes()));
  read_specials(file.metadata(), model);
  naming(source, [&] { validate(c); });
  return model;
}

std::unique_ptr<ModelFiles> open_gguf(const std::filesystem::path& path) {
  return std::make_unique<GgufModel>(std::make_shared<const GgufFile>(path));
}

}  // namespace headroom::models
