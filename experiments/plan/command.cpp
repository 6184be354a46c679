#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/error.h"
#include "experiments/plan/allocation_plan.h"
#include "experiments/plan/command.h"
#include "experiments/plan/cost_plan.h"
#include "experiments/plan/plan_page.h"

namespace headroom::experiments {
namespace {

/// The flags that describe a model, in place of a file.
struct ModelFlags {
  int64_t layers = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocab = 0;
  std::string activation = "swiglu";
  bool is_tied = false;
};

struct Arguments {
  AllocationRequest allocation;
  std::string decay, text, study;
  int64_t terms = 32;
  std::string config;
  ModelFlags flags;
  std::string head_dims, machine;
  CostRequest costs;
  bool is_json = false;
  std::string page;
};

/// The flags as the file that they stand for.
std::string toml_of(const Arguments& arguments) {
  const ModelFlags& flags = arguments.flags;
  std::string text = fmt::format("vocab = {}\n", flags.vocab);
  if (arguments.costs.context > 0) text += fmt::format("context = {}\n", arguments.costs.context);
  text += fmt::format(
      "[model]\nkind = \"decoder\"\nlayers = {}\nwidth = {}\nheads = {}\nffn_width = {}\nactivation = \"{}\"\n"
      "norm = \"rms_norm\"\npositions = \"rope\"\nattention_bias = false\nffn_bias = false\ntied = {}\n",
      flags.layers, arguments.allocation.width, flags.heads, flags.ffn, flags.activation, flags.is_tied);
  if (flags.kv_heads > 0) text += fmt::format("kv_heads = {}\n", flags.kv_heads);
  if (flags.head_dim > 0) text += fmt::format("head_dim = {}\n", flags.head_dim);
  return text;
}

std::optional<CostPlan> costs_of(Arguments& arguments) {
  const bool has_flags = arguments.flags.layers > 0;
  if (arguments.config.empty() && !has_flags) {
    require(arguments.flags.heads == 0 && arguments.head_dims.empty() && arguments.machine.empty(),
            "--heads, --head-dims and --on speak of a model: wants --config FILE or --layers too");
    return std::nullopt;
  }
  require(arguments.config.empty() || !has_flags, "--config and --layers: give one model, not two");
  CostRequest& request = arguments.costs;
  request.model = has_flags ? parse_plan_toml(toml_of(arguments), "command line") : read_model(arguments.config);
  if (request.context == 0) request.context = request.model.config.max_length;
  if (!arguments.head_dims.empty()) request.head_dims = parse_head_dims(arguments.head_dims);
  request.machine = arguments.machine.empty() ? measure_this_machine() : machine_named(arguments.machine);
  return plan_costs(request);
}

/// The decay from the one source that is given; none without a source.
std::optional<Decay> decay_of(const Arguments& arguments) {
  const int sources = !arguments.decay.empty() + !arguments.text.empty() + !arguments.study.empty();
  require(sources <= 1, "--decay, --from-text and --from-study: give one of them");
  if (!arguments.decay.empty()) return parse_decay(arguments.decay, arguments.terms);
  if (!arguments.text.empty()) return decay_of_text(arguments.text, arguments.terms);
  if (!arguments.study.empty()) return decay_of_study(arguments.study);
  return std::nullopt;
}

std::optional<AllocationPlan> allocation_of(Arguments& arguments, const std::optional<CostPlan>& costs) {
  std::optional<Decay> decay = decay_of(arguments);
  if (!decay) {
    require(costs.has_value(), "--decay: missing, wants the norms r1,r2,… of lags 1, 2, … (or a model: --config FILE)");
    return std::nullopt;
  }
  AllocationRequest& request = arguments.allocation;
  if (request.width == 0 && costs) {
    for (const models::HeadGroup& group : costs->request.model.config.groups)
      request.width += group.heads * group.v_dim;
  }
  if (request.token_dim == 0) request.token_dim = decay->token_dim;
  request.decay = std::move(*decay);
  return plan_allocation(request);
}

void plan(Arguments arguments) {
  const std::optional<CostPlan> costs = costs_of(arguments);
  const std::optional<AllocationPlan> allocation = allocation_of(arguments, costs);
  if (!arguments.page.empty()) write_plan_page(arguments.page, allocation, costs);
  if (arguments.is_json) {
    nlohmann::ordered_json out = allocation ? allocation_json(*allocation) : nlohmann::ordered_json::object();
    if (costs) out["costs"] = cost_json(*costs);
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  if (allocation) fmt::print("{}", allocation_text(*allocation));
  if (costs) fmt::print("{}{}", allocation ? "\n" : "", cost_text(*costs));
  fmt::print("\n{}", worth_text());
  if (!arguments.page.empty()) fmt::print("\npage  {}\n", arguments.page);
}

void add_model_options(CLI::App& command, Arguments& arguments) {
  ModelFlags& flags = arguments.flags;
  CostRequest& costs = arguments.costs;
  command.add_option("--config", arguments.config, "a model: Hugging Face's config.json, or TOML with a [model] table")
      ->type_name("FILE");
  command.add_option("--layers", flags.layers, "a model by flags, of --width: blocks");
  command.add_option("--heads", flags.heads, "its attention heads");
  command.add_option("--kv-heads", flags.kv_heads, "its key-value heads (default: as many)");
  command.add_option("--head-dim", flags.head_dim, "width of a head (default: width / heads)");
  command.add_option("--ffn", flags.ffn, "width of its feed-forward networks");
  command.add_option("--activation", flags.activation, "swiglu, gelu, gelu_tanh or relu")->capture_default_str();
  command.add_option("--vocab", flags.vocab, "tokens of its vocabulary");
  command.add_flag("--tied", flags.is_tied, "its readout is the token embedding");
  command.add_option("--context", costs.context, "tokens of a sequence (default: the model's longest)");
  command.add_option("--batch", costs.batch, "sequences at once")->capture_default_str();
  command.add_option("--dtype", costs.dtype, "f32, bf16 or f16")->capture_default_str();
  command.add_option("--head-dims", arguments.head_dims, "widths to compare: 32,64 or FROM:TO[:STEP] (doubling)");
  const std::map<std::string, bool> kept{{"heads", false}, {"width", true}};
  command.add_option("--keep", costs.keep_width, "what stays as the head width changes: heads, or width, heads x dim")
      ->transform(CLI::CheckedTransformer(kept))
      ->default_str("heads");
  command.add_option("--on", arguments.machine, "a machine by name, like h100 (default: this one, measured)")
      ->type_name("MACHINE");
}

}  // namespace

void add_plan_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("plan", "how to split a width between heads, what bounds say, what it costs");
  const auto arguments = std::make_shared<Arguments>();
  AllocationRequest& allocation = arguments->allocation;
  command->add_option("--width", allocation.width, "width of the model, D");
  command->add_option("--token-dim", allocation.token_dim, "width of a token, d");
  command->add_option("--decay", arguments->decay,
                      "norms of the target's memory by lag, r1,r2,..., or a kernel: exponential:A, polynomial:A, "
                      "n-gram:N, delta:LAG, airy:A");
  command->add_option("--from-text", arguments->text, "estimate the decay from a text's bytes")->type_name("FILE");
  command->add_option("--from-study", arguments->study, "estimate it from the attention of a run's best model")
      ->type_name("RUN");
  command->add_option("--terms", arguments->terms, "lags of a kernel or a text that are looked at")
      ->capture_default_str();
  const std::map<std::string, tasks::Lags> lags{{"any", tasks::Lags::subset}, {"prefix", tasks::Lags::prefix}};
  command->add_option("--lags", allocation.rules.lags, "lags that heads may serve: any, or prefix, the first M")
      ->transform(CLI::CheckedTransformer(lags))
      ->default_str("any");
  command->add_flag("--exact-width", allocation.rules.exact_width, "heads fill the width exactly, as the paper asks");
  command->add_option("--risk", allocation.risk, "probability with which the concentration term may fail")
      ->capture_default_str();
  add_model_options(*command, *arguments);
  command->add_flag("--json", arguments->is_json, "JSON instead of tables");
  command->add_option("--html", arguments->page, "also write a page with the trade-off curve")->type_name("FILE");
  command->callback([arguments] { plan(*arguments); });
}

}  // namespace headroom::experiments
