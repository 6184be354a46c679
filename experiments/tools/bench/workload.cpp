#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/toml/reader.h"
#include "experiments/tools/bench/bench.h"
#include "models/config_names.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

bool is_table(const Entry* entry) { return entry && entry->value.kind == Value::Kind::table; }

/// The table of a workload over that of the defaults.
Value workload_table(const std::string& file, const std::string& name) {
  std::string text;
  try {
    text = models::read_file(shipped_file(file).string(), {"file of workloads", uint64_t{1} << 24});
  } catch (const Error& error) {
    fail("{}; --workloads names another", error.what());
  }
  const Value all = parse_toml(text, file);
  std::vector<std::string> names;
  for (const Entry& entry : all.table)
    if (entry.key != "defaults" && is_table(&entry)) names.push_back(entry.key);
  std::sort(names.begin(), names.end());
  require(name != "defaults" && is_table(all.find(name)), "{}: unknown workload '{}'; known: {}", file, name,
          fmt::join(names, ", "));
  const Entry* const defaults = all.find("defaults");
  Value table = is_table(defaults) ? defaults->value : Value();
  merge(table, all.find(name)->value);
  return table;
}

/// One of `names` that has to be given.
template <class E>
E required_choice(Reader& in, const char* key, const std::vector<std::pair<const char*, E>>& names) {
  if (!in.has(key)) in.complain(key, "missing");
  return in.choice(key, names[0].second, names, "");
}

void read_keys(Reader& in, Workload& out) {
  using namespace models;
  const auto integer = [&](const char* key) { return in.integer(key, std::nullopt, count, ""); };
  out.batch = integer("batch");
  out.length = integer("length");
  out.objective = required_choice<Objective>(
      in, "objective",
      {{"mse", Objective::mse}, {"ce", Objective::ce}, {"mlm", Objective::mlm}, {"classify", Objective::classify}});
  TransformerConfig& model = out.model;
  model.layers = integer("layers");
  model.width = integer("width");
  const int64_t heads = integer("heads"), head_dim = integer("head_dim");
  model.groups = {{.heads = heads, .qk_dim = head_dim, .v_dim = head_dim}};
  model.max_length = out.length;
  model.ffn_width = integer("ffn");
  model.causal = in.flag("causal", std::nullopt, "");
  model.tied = in.flag("tied", std::nullopt, "");
  model.dropout = in.real("dropout", std::nullopt, fraction, "");
  model.norm = required_choice<Norm>(in, "norm", {{"layernorm", Norm::layer_norm}, {"rmsnorm", Norm::rms_norm}});
  model.norm_eps = model.norm == Norm::layer_norm ? 1e-5 : 1e-6;
  if (!in.has("activation")) in.complain("activation", "missing");
  in.set("activation", model.activation, activation_names, "");
  model.positions = required_choice<Positions>(
      in, "positions", {{"learned", Positions::learned}, {"sinusoidal", Positions::sinusoidal}});
  in.skip({"vocab", "classes"});  // each workload uses the ones it needs
  if (in.has("io")) model.input_dim = integer("io");
  else model.vocab = integer("vocab");
  if (out.objective == Objective::classify) model.pooling = Pooling::mean;
  model.output_dim = integer(out.objective == Objective::classify ? "classes"
                             : out.objective == Objective::mse    ? "io"
                                                                  : "vocab");
}

}  // namespace

Workload read_workload(const std::string& file, const std::string& name) {
  const Value table = workload_table(file, name);
  Workload out{.name = name, .model = {}};
  Complaints problems;
  {
    Reader in(table, name, problems);
    read_keys(in, out);
    in.finish();
  }
  problems.raise();
  return out;
}

}  // namespace headroom::experiments
