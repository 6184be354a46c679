#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/analysis/head_advice.h"
#include "experiments/tools/plan/allocation_plan.h"
#include "experiments/tools/plan/answer.h"
#include "experiments/tools/plan/cost_plan.h"
#include "experiments/tools/plan/measured_choice.h"
#include "experiments/tools/plan/plan_page.h"
#include "experiments/tools/plan/study_run.h"
#include "models/config_names.h"
#include "models/positions.h"
#include "tasks/data/locate.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {
namespace {

constexpr int64_t most_terms = 65536;

/// The flags that describe a model, in place of a file.
struct ModelFlags {
  std::optional<int64_t> layers, heads, kv_heads, head_dim;
  std::optional<int64_t> vocab, ffn;
  std::string activation = "swiglu";
  bool is_tied = false;
};

struct PlanArguments {
  AllocationRequest allocation;
  std::optional<int64_t> width, token_dim, context;
  std::string decay, ranks, text, study, series, data, attention, attention_text;
  int64_t terms = 32;
  std::string config;
  ModelFlags flags;
  std::string head_dims, machine, keep = "heads", lags = "any";
  CostRequest costs;
  std::string task, positions;       ///< --for
  std::vector<HeadChoice> measured;  ///< of the study that the decay is from
  bool is_json = false, has_tables = false, force = false;
  std::string page;
};

/// Writes the flags as the file that they replace.
std::string toml_of(const PlanArguments& arguments) {
  const ModelFlags& flags = arguments.flags;
  std::vector<std::string> missing;
  if (!arguments.width) missing.emplace_back("--width");
  if (!flags.heads) missing.emplace_back("--heads");
  if (!flags.vocab) missing.emplace_back("--vocab");
  if (!flags.ffn)
    missing.push_back("--ffn (width of the feed-forward networks: 0 for none, often 4 × width" +
                      (arguments.width ? fmt::format(" = {})", 4 * *arguments.width) : ")"));
  require(missing.empty(), "{}: missing, a model by flags needs --layers, --width, --heads, --vocab and --ffn",
          fmt::join(missing, ", "));
  std::string text = fmt::format("vocab = {}\n", *flags.vocab);
  if (arguments.context) text += fmt::format("context = {}\n", *arguments.context);
  text += fmt::format(
      "[model]\nkind = \"decoder\"\nlayers = {}\nwidth = {}\nheads = {}\nffn_width = {}\nactivation = \"{}\"\n"
      "norm = \"rms_norm\"\npositions = \"rope\"\nattention_bias = false\nffn_bias = false\ntied = {}\n",
      *flags.layers, *arguments.width, *flags.heads, *flags.ffn, flags.activation, flags.is_tied);
  if (flags.kv_heads) text += fmt::format("kv_heads = {}\n", *flags.kv_heads);
  if (flags.head_dim) text += fmt::format("head_dim = {}\n", *flags.head_dim);
  return text;
}

std::optional<CostPlan> costs_of(PlanArguments& arguments) {
  const bool has_flags = arguments.flags.layers.has_value();
  if (arguments.config.empty() && !has_flags) {
    require(!arguments.flags.heads && arguments.head_dims.empty() && arguments.machine.empty(),
            "--heads, --head-dims and --on describe a model: give --config FILE or --layers, too");
    return std::nullopt;
  }
  require(arguments.config.empty() || !has_flags, "--config and --layers: give one model, not two");
  CostRequest& request = arguments.costs;
  request.model = has_flags ? parse_plan_toml(toml_of(arguments), "command line") : read_model(arguments.config);
  request.keep_width = arguments.keep == "width";
  request.context = arguments.context.value_or(request.model.config.max_length);
  if (!arguments.head_dims.empty()) request.head_dims = parse_head_dims(arguments.head_dims);
  request.machine = arguments.machine.empty() ? measure_this_machine() : machine_named(arguments.machine);
  return plan_costs(request);
}

/// Reads a run's decay and the fits of its series, the decay's first.
void read_study(PlanArguments& arguments) {
  AllocationRequest& request = arguments.allocation;
  const StudyRun run(arguments.study, arguments.series);
  note_unchecked(run.name(), run.unchecked());
  if (!run.problem().empty())
    write_note(fmt::format("headroom: {}: its study cannot be read, only its trials: {}", run.name(), run.problem()));
  request.decay = decay_of_study(run, arguments.terms, tasks::data_roots(arguments.data));
  request.fits = fit_study(run);
  for (HeadChoice& measured : measured_choices(run.results()))
    if (measured.series == request.decay.series) arguments.measured.push_back(std::move(measured));
  const auto own = std::find_if(request.fits.begin(), request.fits.end(),
                                [&](const StudyFit& fit) { return fit.series == request.decay.series; });
  if (own != request.fits.end()) std::rotate(request.fits.begin(), own, own + 1);
  if (!arguments.width && !request.fits.empty()) arguments.width = request.fits.front().width;
}

/// The total width of the first layer's heads.
int64_t heads_width(const models::TransformerConfig& config) {
  int64_t width = 0;
  for (const models::HeadGroup& group : models::first_layer(config).groups) width += group.heads * group.v_dim;
  return width;
}

/// Measures the decay of a trained model's heads on a text.
void read_attention(PlanArguments& arguments) {
  require(!arguments.attention_text.empty(), "--from-attention: needs --text FILE");
  const auto files = models::ModelFiles::open(arguments.attention);
  const auto tokenizer = files->tokenizer();
  const std::vector<int32_t> tokens = tasks::tokens_of_file(arguments.attention_text, *tokenizer);
  const std::string cut = "text " + tasks::text_cut(files->description(), *tokenizer).words();
  const auto model = files->load();
  arguments.allocation.decay = decay_of_model(*files, *model, tokens, cut, arguments.terms);
  if (arguments.width) return;
  arguments.width = heads_width(model->config());
}

/// Reads the decay from its one given source, and what else that source knows. Returns false without a source.
bool read_decay(PlanArguments& arguments) {
  AllocationRequest& request = arguments.allocation;
  const int sources =
      !arguments.decay.empty() + !arguments.text.empty() + !arguments.study.empty() + !arguments.attention.empty();
  require(sources <= 1, "--decay, --from-text, --from-study and --from-attention: give one of them");
  require(arguments.attention_text.empty() || !arguments.attention.empty(), "--text: needs --from-attention MODEL");
  require(arguments.series.empty() || !arguments.study.empty(), "--series: needs --from-study RUN");
  if (!arguments.decay.empty()) request.decay = parse_decay(arguments.decay, arguments.terms);
  else if (!arguments.text.empty()) request.decay = decay_of_text(arguments.text, arguments.terms);
  else if (!arguments.study.empty()) read_study(arguments);
  else if (!arguments.attention.empty()) read_attention(arguments);
  return sources == 1;
}

std::optional<AllocationPlan> allocation_of(PlanArguments& arguments, const std::optional<CostPlan>& costs) {
  if (!read_decay(arguments)) {
    require(arguments.ranks.empty(), "--ranks: needs the decay of the same lags, --decay r1,r2,…");
    require(costs.has_value(),
            "say what the heads are for: --for TASK (such as mlm, ntp or n-gram), --decay r1,r2,… with --width and "
            "--token-dim, --from-text FILE, --from-study RUN or --from-attention MODEL; or a model's sizes: --config "
            "FILE or --layers");
    return std::nullopt;
  }
  AllocationRequest& request = arguments.allocation;
  if (!arguments.width && costs) arguments.width = heads_width(costs->request.model.config);
  if (!arguments.token_dim && request.decay.token_dim > 0) arguments.token_dim = request.decay.token_dim;
  std::vector<const char*> missing;
  if (!arguments.width) missing.push_back("--width, the width of the model, D");
  if (!arguments.token_dim)
    missing.push_back(
        "--token-dim, the width of a token, d: how many numbers of each earlier token the target uses, at most D");
  require(missing.empty(), "missing: {}", fmt::join(missing, "; "));
  request.rules.lags = arguments.lags == "prefix" ? tasks::Lags::prefix : tasks::Lags::subset;
  request.width = *arguments.width;
  request.token_dim = *arguments.token_dim;
  request.ranks = parse_ranks(arguments.ranks);
  return plan_allocation(request);
}

void say_page(const PlanArguments& arguments) {
  if (!arguments.page.empty()) print_text("\npage  {}\n", arguments.page);
}

/// Prints what our studies' trained models found for such a task, at --width if given, else at each measured width;
/// answers first.
void say_measured(const PlanArguments& arguments) {
  std::vector<HeadChoice> found = choices_for(arguments.task, shipped_choices());
  const auto keep = [&](const char* option, const auto& is_kept) {
    std::erase_if(found, [&](const HeadChoice& one) { return !is_kept(one); });
    require(!found.empty(), "{}: nothing was measured with it for '{}'", option, arguments.task);
  };
  if (arguments.token_dim)
    keep("--token-dim", [&](const HeadChoice& c) { return c.token_dim == static_cast<double>(*arguments.token_dim); });
  const auto at_width = [&](const HeadChoice& one) { return one.width == arguments.width; };
  const bool is_measured = std::any_of(found.begin(), found.end(), at_width);
  if (is_measured) keep("--width", [&](const HeadChoice& c) { return c.width == arguments.width; });
  std::vector<PlanAnswer> answers;
  if (arguments.width && !is_measured) answers.push_back(unmeasured_answer(*arguments.width, arguments.task, found));
  else
    for (const int64_t width : widths_of(curves_of(found)))
      answers.push_back(*measured_answer(curves_of(found), width, arguments.positions));
  if (!arguments.page.empty()) write_measured_page(arguments.page, arguments.task, found, answers);
  if (arguments.is_json) {
    nlohmann::ordered_json out{{"task", arguments.task}, {"answers", nlohmann::ordered_json::array()}};
    for (const PlanAnswer& answer : answers) out["answers"].push_back(answer_json(answer));
    out["choices"] = nlohmann::ordered_json::parse(choices_json(found));
    return fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  const size_t columns = output_columns();
  for (const PlanAnswer& answer : answers) print_text("{}\n", answer_text(answer, columns));
  print_text("{}", measured_text(found, columns));
  say_page(arguments);
}

void plan(PlanArguments arguments) {
  if (!arguments.task.empty()) {
    const bool is_alone = arguments.decay.empty() && arguments.text.empty() && arguments.study.empty() &&
                          arguments.attention.empty() && arguments.config.empty();
    require(is_alone, "--for: says what was measured; give no decay and no model");
    return say_measured(arguments);
  }
  require(arguments.positions.empty(), "--positions: needs --for TASK");
  require(arguments.terms >= 1 && arguments.terms <= most_terms, "--terms: expected 1 to {}, got {}", most_terms,
          arguments.terms);
  const std::optional<CostPlan> costs = costs_of(arguments);
  const std::optional<AllocationPlan> allocation = allocation_of(arguments, costs);
  std::optional<PlanAnswer> answer;
  if (allocation) answer = answer_of(*allocation, arguments.measured);
  if (!arguments.page.empty())
    write_plan_page(arguments.page, answer, allocation, costs,
                    allocation ? curves_behind(*allocation, arguments.measured) : std::vector<HeadChoice>{});
  if (arguments.is_json) {
    nlohmann::ordered_json out{{"answer", answer_json(answer ? *answer : usual_answer(*costs))}};
    if (allocation) out.update(allocation_json(*allocation));
    if (costs) out["costs"] = cost_json(*costs);
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  const size_t columns = output_columns();
  if (answer) print_text("{}", answer_text(*answer, columns));
  else if (costs) print_text("{}\n", answer_text(usual_answer(*costs), columns));
  if (allocation && arguments.has_tables) print_text("\n{}", allocation_text(*allocation, columns));
  if (costs) print_text("{}{}", allocation ? "\n" : "", cost_text(*costs, columns));
  if (costs || arguments.has_tables) print_text("\n{}", basis_text(allocation.has_value(), columns));
  else print_text("--tables shows every bound, split and width behind this, and what it rests on\n");
  say_page(arguments);
}

}  // namespace

void add_plan_command(Command app) {
  const Command command = app.command("plan", "how to split a width between heads, and what it costs");
  const auto a = std::make_shared<PlanArguments>();
  AllocationRequest& allocation = a->allocation;
  ModelFlags& flags = a->flags;
  command.option("--width", a->width, "width of the model, D");
  command.option("--token-dim", a->token_dim, "width of a token, d");
  command.option("--decay", a->decay,
                 "norms of the target's memory by lag, r1,r2,..., or a kernel: exponential:A, polynomial:A, "
                 "n-gram:N, delta:LAG, airy:A");
  command.option("--ranks", a->ranks,
                 "ranks of the lags' maps, r1,r2,...: a head of lag m loses nothing once it is rm wide (default: "
                 "--token-dim)");
  command.option("--from-text FILE", a->text, "estimate the decay from a text's bytes").path_by(tasks::named_text);
  command.option("--from-study RUN", a->study,
                 "take the decay from the attention of a run's best model, and fit the bound to its curve");
  command.option("--from-attention MODEL", a->attention, "measure the decay in a trained model's heads, on --text")
      .path_by(tasks::named_model);
  command.option("--text FILE", a->attention_text, "the text that --from-attention reads").path_by(tasks::named_text);
  command.option("--series", a->series, "the run's series to learn from (default: the best model's)");
  add_data_option(command, a->data);
  command.option("--terms", a->terms, "number of lags to look at, of a kernel, a text or a model's attention");
  command.option("--lags", a->lags, "lags that heads may serve: any, or prefix, the first M").one_of({"any", "prefix"});
  command.flag("--exact-width", allocation.rules.exact_width, "heads fill the width exactly, as the paper asks");
  command.option("--risk", allocation.risk, "probability with which the concentration term may fail");
  command
      .option("--config FILE", a->config, "a model: config.json, its folder, a GGUF file, or TOML with a [model] table")
      .path_by(tasks::named_model);
  command.option("--layers", flags.layers, "blocks of a model by flags, with --width");
  command.option("--heads", flags.heads, "its attention heads");
  command.option("--kv-heads", flags.kv_heads, "its key-value heads (default: as many)");
  command.option("--head-dim", flags.head_dim, "width of a head (default: width / heads)");
  command.option("--ffn", flags.ffn, "width of its feed-forward networks, 0 for none");
  command.option("--activation", flags.activation, "of the feed-forward networks")
      .one_of(names_in(models::activation_names));
  command.option("--vocab", flags.vocab, "tokens of its vocabulary");
  command.flag("--tied", flags.is_tied, "its readout is the token embedding");
  command.option("--context", a->context, "tokens of a sequence (default: the model's longest)");
  command.option("--batch", a->costs.batch, "sequences at once");
  command.option("--dtype", a->costs.dtype, "f32, bf16 or f16");
  command.option("--head-dims", a->head_dims, "widths to compare: 32,64 or FROM:TO[:STEP] (doubling)");
  command.option("--keep", a->keep, "what stays as the head width changes: heads, or width, heads x dim")
      .one_of({"heads", "width"});
  command.option("--on MACHINE", a->machine, "a machine by name, like h100 (default: this one, measured)");
  command.option("--for TASK", a->task,
                 "a task, like mlm, ntp or n-gram: what trained models of our studies found for it");
  std::vector<std::string> schemes;
  for (const models::PositionScheme& scheme : models::position_schemes()) schemes.emplace_back(scheme.name);
  command.option("--positions", a->positions, "with --for: answer for this scheme of positions").one_of(schemes);
  command.flag("--tables", a->has_tables, "also every bound, split and width behind the answer");
  command.flag("--json", a->is_json, "JSON instead of sentences and tables");
  command.option("--html FILE", a->page, "also write a page: the answer, its curves and tables").output();
  command.flag("--force", a->force, "with --html: replace the page that is there");
  command.action([a] {
    if (!a->page.empty()) check_file(a->page, true);
    plan(*a);
  });
}

}  // namespace headroom::experiments
