#include "experiments/bench/workload.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/error.h"

namespace headroom::experiments {
namespace {

/// One workload's keys: those of its table, else of [defaults].
class Keys {
 public:
  Keys(std::string where, const toml::table& own, const toml::table& defaults)
      : where_(std::move(where)), merged_(defaults) {
    for (const auto& [key, value] : own) merged_.insert_or_assign(key, value);
  }

  bool has(const char* key) const { return merged_.contains(key); }

  template <class T>
  T get(const char* key) const {
    const auto* node = merged_.get(key);
    require(node, "{}: {} is missing", where_, key);
    const auto value = node->value<T>();
    require(value.has_value(), "{}: {} has the wrong type", where_, key);
    return *value;
  }

  int64_t count(const char* key) const {
    const auto value = get<int64_t>(key);
    require(value >= 1, "{}: {} is {}, not a positive number", where_, key, value);
    return value;
  }

  template <class T, size_t n>
  T choice(const char* key, const std::array<std::pair<const char*, T>, n>& known) const {
    const auto name = get<std::string>(key);
    std::string names;
    for (const auto& [known_name, value] : known) {
      if (name == known_name) return value;
      names += (names.empty() ? "" : ", ") + std::string(known_name);
    }
    fail("{}: {} is '{}'; known: {}", where_, key, name, names);
  }

  void refuse_unknown() const {
    static constexpr std::array known{"layers",  "causal", "norm",  "activation", "positions", "tied",
                                      "dropout", "width",  "heads", "length",     "batch",     "head_dim",
                                      "ffn",     "vocab",  "io",    "classes",    "objective"};
    for (const auto& [key, value] : merged_)
      require(std::find(known.begin(), known.end(), key.str()) != known.end(), "{}: unknown key {}", where_, key.str());
  }

 private:
  std::string where_;
  toml::table merged_;
};

toml::table parse(const std::string& file) {
  try {
    return toml::parse_file(file);
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    require(at.line > 0, "{}: cannot be read; --workloads names a file of workloads", file);
    fail("{}:{}:{}: {}", file, at.line, at.column, std::string(error.description()));
  }
}

}  // namespace

Workload read_workload(const std::string& file, const std::string& name) {
  using namespace models;
  const toml::table all = parse(file);
  std::string known;
  for (const auto& [key, value] : all)
    if (key.str() != "defaults" && value.is_table()) known += (known.empty() ? "" : ", ") + std::string(key.str());
  require(name != "defaults" && all.get(name) && all.get(name)->is_table(), "{}: unknown workload '{}'; known: {}",
          file, name, known);
  const toml::table none;
  const toml::table* defaults = all.get_as<toml::table>("defaults");
  const Keys keys(file + ": " + name, *all.get_as<toml::table>(name), defaults ? *defaults : none);
  keys.refuse_unknown();

  Workload out{.name = name, .model = {}};
  out.batch = keys.count("batch");
  out.length = keys.count("length");
  out.objective =
      keys.choice("objective", std::array<std::pair<const char*, Objective>, 4>{{{"mse", Objective::mse},
                                                                                 {"ce", Objective::ce},
                                                                                 {"mlm", Objective::mlm},
                                                                                 {"classify", Objective::classify}}});
  TransformerConfig& model = out.model;
  model.layers = keys.count("layers");
  model.width = keys.count("width");
  const int64_t head_dim = keys.count("head_dim");
  model.groups = {{.heads = keys.count("heads"), .qk_dim = head_dim, .v_dim = head_dim}};
  model.max_length = out.length;
  model.ffn_width = keys.count("ffn");
  model.causal = keys.get<bool>("causal");
  model.tied = keys.get<bool>("tied");
  model.dropout = keys.get<double>("dropout");
  model.norm = keys.choice("norm", std::array<std::pair<const char*, Norm>, 2>{
                                       {{"layernorm", Norm::layer_norm}, {"rmsnorm", Norm::rms_norm}}});
  model.norm_eps = model.norm == Norm::layer_norm ? 1e-5 : 1e-6;
  model.activation = keys.choice("activation", std::array<std::pair<const char*, Activation>, 2>{
                                                   {{"gelu", Activation::gelu}, {"swiglu", Activation::swiglu}}});
  model.positions =
      keys.choice("positions", std::array<std::pair<const char*, Positions>, 2>{
                                   {{"learned", Positions::learned}, {"sinusoidal", Positions::sinusoidal}}});
  if (keys.has("io")) model.input_dim = keys.count("io");
  else model.vocab = keys.count("vocab");
  if (out.objective == Objective::classify) {
    model.pooling = Pooling::mean;
    model.output_dim = keys.count("classes");
  } else {
    model.output_dim = out.objective == Objective::mse ? keys.count("io") : keys.count("vocab");
  }
  return out;
}

}  // namespace headroom::experiments
