#include "experiments/tools/bench/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/toml/document.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

/// One workload's keys: those of its table, else of [defaults].
class Keys {
 public:
  Keys(std::string where, const Value& own, const Value& defaults) : where_(std::move(where)), merged_(defaults) {
    merge(merged_, own);
  }

  bool has(const char* key) const { return merged_.find(key) != nullptr; }

  template <class T>
  T get(const char* key) const {
    const Entry* entry = merged_.find(key);
    require(entry, "{}: {} is missing", where_, key);
    const Value& value = entry->value;
    const auto check = [&](bool ok) { require(ok, "{}: {} has the wrong type", where_, key); };
    if constexpr (std::same_as<T, bool>) return check(value.kind == Value::Kind::boolean), value.boolean;
    else if constexpr (std::same_as<T, int64_t>) return check(value.kind == Value::Kind::integer), value.integer;
    else if constexpr (std::same_as<T, double>) return check(value.is_number()), value.number();
    else return check(value.kind == Value::Kind::text), value.text;
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
    for (const Entry& entry : merged_.table)
      require(std::find(known.begin(), known.end(), entry.key) != known.end(), "{}: unknown key {}", where_, entry.key);
  }

 private:
  std::string where_;
  Value merged_;
};

Value read_workloads(const std::string& file) {
  std::string text;
  try {
    text = models::read_file(shipped_file(file).string(), {"file of workloads", uint64_t{1} << 24});
  } catch (const Error& error) {
    fail("{}; --workloads names another", error.what());
  }
  return parse_toml(text, file);
}

bool is_table(const Entry* entry) { return entry && entry->value.kind == Value::Kind::table; }

}  // namespace

Workload read_workload(const std::string& file, const std::string& name) {
  using namespace models;
  const Value all = read_workloads(file);
  std::vector<std::string> names;
  for (const Entry& entry : all.table)
    if (entry.key != "defaults" && is_table(&entry)) names.push_back(entry.key);
  std::sort(names.begin(), names.end());
  require(name != "defaults" && is_table(all.find(name)), "{}: unknown workload '{}'; known: {}", file, name,
          fmt::join(names, ", "));
  const Entry* defaults = all.find("defaults");
  const Keys keys(file + ": " + name, all.find(name)->value, is_table(defaults) ? defaults->value : Value());
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
