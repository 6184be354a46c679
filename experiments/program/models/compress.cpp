#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/output/text.h"
#include "experiments/output/wrap.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/progress_line.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/tools/compress/compression.h"
#include "tasks/data/locate.h"

namespace headroom::experiments {
namespace {

/// What each method keeps of a head at rank r.
constexpr std::pair<const char*, const char*> kept_by[] = {
    {"plain", "the best rank-r W_Q, and W_K"},
    {"product", "the best rank-r product of W_Q and W_K"},
    {"product-grouped", "the same, for query heads that share a key"},
    {"product-literal", "the paper's Algorithm 1 as printed"},
    {"pca", "queries' and keys' main directions"},
    {"pairs", "the r/2 rotary pairs with most energy"},
    {"pairs-grouped", "the same pairs for heads that share a key"},
    {"pairs-even", "every (d/r)th pair: a plain narrower head"},
    {"whitened", "the scores' main directions"},
    {"whitened-grouped", "the same, for query heads that share a key"},
    {"whitened-relative", "the same, over all distances of tokens"},
    {"whitened-rotated", "the same after the turn: cached keys narrow"},
    {"whitened-rotated-grouped", "the same, for query heads that share a key"},
};

std::string methods_text() {
  std::string out = fmt::format("{:<26}{:<46}{}\n", "--method (of --part qk)", "keeps at rank r", "reads");
  for (const auto& [name, keeps] : kept_by) {
    const tasks::QkMethod method = tasks::qk_method_named(name);
    out += fmt::format("{:<26}{:<46}{}{}\n", name, keeps, tasks::needs_of(method).any() ? "a text" : "",
                       tasks::has_own_keys(method) ? " *" : "");
  }
  out += "\n--vo-method (of --part vo)\n";
  for (const std::string& name : tasks::vo_method_names())
    out += fmt::format("{:<26}{:<46}{}\n", name, "the outputs' main directions", "a text");
  return out + "\n* gives each query head a key and a value of its own: shared ones grow\n" +
         "Defaults with --budget: whitened-rotated-grouped, whitened.\n";
}

void compress(CompressArguments& arguments) {
  if (const char* missing = missing_option(arguments)) throw UsageError(fmt::format("{} is required", missing));
  const ModelScope scope(arguments.threads, arguments.device, engine::Activations::exact);
  arguments.command = command_as_given();
  arguments.training.note = [](const std::string& line) { write_note("headroom: " + line); };
  CompressJob job = job_of(arguments);
  // The share of heads and of the cache says nothing of pieces that go.
  if (!arguments.json && arguments.remove.empty()) print_text("{}\n", wrapped(text_of(savings_of(arguments, job)), 80));
  if (!arguments.json)
    print_text("{} as {}: will load in {}\n", arguments.out, arguments.format,
               models::loaded_by(job.format, arguments.out));
  if (!arguments.json && !job.cut.splitter.empty()) print_text("text     {}\n", job.cut.words());
  const Compression done = [&] {
    ProgressLine line(steps_of(arguments, job));  // gone before anything is printed
    return compress(arguments, job, [&](const std::string& what, double share) { line.show(what, share); });
  }();
  if (arguments.json) print_json(json_of(arguments, job, done));
  else print_text("{}", text_of(arguments, job, done));
}

}  // namespace

void add_compress_command(Command app) {
  const Command command = app.command("compress", "make the heads of a trained model smaller, and write it");
  const auto a = std::make_shared<CompressArguments>();
  add_model_argument(command, a->model);
  const Command cut = command.under("What to cut"), texts = command.under("Texts to calibrate and measure on"),
                refining = command.under("Refinement"), output = command.under("Output"),
                machine = command.under("Machine");
  cut.option(
      "--budget B", a->budget,
      "the best mix of widths and cache types (f16, q8_0, q4_0) of each head, and of neighbours that share a key and a "
      "value: cache=S, a share of the cache's bytes in f16; bytes=N a token; kl=X, the fewest bytes within X nats; "
      "loss=S, the fewest shown to raise the perplexity by at most a share (default, where nothing says what to cut: "
      "loss=0.01)");
  cut.option("--budget-tokens N", a->budget_tokens, "of --calibrate on which --budget measures the heads' losses")
      .range(16, 1 << 20)
      .show_default();
  cut.option("--remove", a->remove,
             "take out whole pieces, those that lose least on --calibrate; --keep S is the share that stays, or --kl X")
      .one_of(tasks::removed_part_names());
  cut.flag("--refit", a->refit,
           "of --remove heads or kv-heads: fit W_O of those that stay to what all gave on --calibrate");
  cut.option("--rank R", a->rank, "narrower heads: R numbers of every key-value head in --layers");
  cut.option("--mean-rank R", a->mean_rank,
             "in place of --rank: as many parameters as that rank takes, shared out over the heads by their loss on "
             "--calibrate");
  cut.option("--keep S", a->keep, "likewise: a share of the parameters of --part in --layers");
  cut.option("--cache S", a->cache, "likewise: a share of the whole key-value cache");
  cut.option("--kl X", a->kl, "likewise: the least that keeps the KL divergence from MODEL within X nats");
  cut.option("--vo-rank R", a->vo_rank, "of --part qk,vo, for the values (default: --rank)");
  cut.option("--part", a->part, "queries and keys, values and output, or both (default: qk; with --budget qk,vo)")
      .one_of({"qk", "vo", "qk,vo"});
  cut.option("--layers", a->layers, "all, odd, deepest:4, random:4, or numbers and ranges from 0: 0-5,7");
  cut.option("--seed N", a->seed, "of random layers, and of the windows of --refine").show_default();
  cut.option("--method M", a->method, "how heads get narrower: one of --help-methods");
  cut.option("--vo-method M", a->vo_method, "of --part qk,vo, for the values (default: --method)");
  cut.shows("--help-methods", "describe what each method keeps, and exit", methods_text);
  add_calibration_options(texts, a->calibrate, a->calibrate_tokens,
                          "the text for methods that read activations and for losses of heads");
  texts.option("--eval FILE", a->eval, "a text whose perplexity is measured before and after")
      .path_by(tasks::named_text);
  texts.option("--eval-tokens A:B", a->eval_tokens, "tokens [A, B) of it (default: the first 8192)");
  texts.option("--context N", a->context,
               "tokens that the model sees at once, in both texts (default: 512, or all that it takes)");
  refining.option("--refine", a->refine, "train the smaller heads to reproduce these of MODEL")
      .one_of(tasks::refine_target_names());
  refining.option("--refine-text FILE", a->refine_text, "on this text (default: that of --calibrate)")
      .path_by(tasks::named_text);
  refining.option("--refine-tokens A:B", a->refine_tokens, "tokens [A, B) of --refine-text (default: 0:400000)");
  refining.option("--refine-steps N", a->training.steps, "of Adam");
  refining.option("--refine-batch B", a->training.batch, "windows of a step");
  refining.option("--refine-context N", a->training.context, "tokens of a window");
  refining.option("--refine-lr LR", a->training.lr, "the largest learning rate");
  refining
      .option("--checkpoint FILE", a->checkpoint,
              "save refinement here now and then; the same command resumes from here, with the same bits")
      .output_apart();
  add_written_model_option(output, a->out);
  output
      .option(
          "--format", a->format,
          "compact: smaller, a folder that loads here alone; plain: fewer heads, or all of one narrower width, which "
          "load elsewhere; compat: full shapes, which load elsewhere (default with --budget: compact)")
      .one_of({"compat", "compact", "plain"});
  output
      .option("--dtype", a->dtype,
              "of the changed matrices (default: f32; with loss=S near MODEL's; a compat folder has one for all)")
      .one_of({"f32", "f16", "bf16", "q8_0"});
  output.option("--curve FILE.svg", a->curve, "draw loss on --eval against bytes of the cache for several budgets")
      .output_apart();
  output.flag("--force", a->force, "overwrite what is there");
  output.flag("--no-speed", a->without_speed, "do not measure tokens per second");
  output.flag("--json", a->json, "one JSON object");
  machine.option("--device", a->device, "cpu or cuda: what runs the models; decompositions are the CPU's");
  add_threads_option(machine, a->threads);
  command.action([a] { compress(*a); });
}

}  // namespace headroom::experiments
