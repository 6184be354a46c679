#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "engine/error.h"
#include "experiments/output/text.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/progress_line.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/tools/compress/accounting.h"
#include "experiments/tools/compress/divergence.h"
#include "experiments/tools/compress/make.h"
#include "experiments/tools/compress/size_note.h"
#include "experiments/version.h"
#include "models/files/file_size.h"
#include "tasks/compression/perplexity_base.h"
#include "tasks/data/locate.h"
#include "tasks/measure/model_hash.h"

namespace headroom::experiments {
namespace {

/// Both models' perplexities, of matrices in f32: before --dtype rounds those that changed.
void measure(const CompressArguments& arguments, const CompressJob& job, const models::Transformer& base,
             const CompressedModel& made, ModelAccount& before, ModelAccount& after) {
  if (!job.evaluation) return;
  const auto compressed = models::load(base, made.edit);
  std::vector<int32_t> tokens = job.evaluation->tokens;
  const auto tokenizer = job.base->tokenizer();
  const tasks::PerplexityBase measured(base, *tokenizer, std::move(tokens),
                                       {.context = arguments.context, .bos = job.base->description().text_begin()});
  before.perplexity = measured.uncompressed();
  after.perplexity = measured.measure(*compressed, *job.layers.begin());
}

/// The command that made the model, as it would be given again.
std::string command_of(const CompressArguments& a, const CompressJob& job) {
  std::string text = fmt::format("headroom compress {} -o {} --part {} --method {}", shell_word(a.model),
                                 shell_word(a.out), a.part, a.method);
  if (!a.vo_method.empty()) text += " --vo-method " + a.vo_method;
  text += fmt::format(" {} --layers {}", rank_option(a), a.layers);
  if (a.seed != 0) text += fmt::format(" --seed {}", a.seed);
  const auto add_text = [&](const char* option, const std::optional<TextRange>& range) {
    if (range)
      text +=
          fmt::format(" --{} {} --{}-tokens {}:{}", option, shell_word(range->file), option, range->begin, range->end);
  };
  add_text("calibrate", job.calibration);
  add_text("eval", job.evaluation);
  if (job.calibration || job.evaluation) text += fmt::format(" --context {}", a.context);
  if (job.refinement) {
    text += " --refine " + a.refine;
    if (!a.refine_text.empty())
      text += fmt::format(" --refine-text {} --refine-tokens {}:{}", shell_word(job.refinement->file),
                          job.refinement->begin, job.refinement->end);
    text += fmt::format(" --refine-steps {} --refine-batch {} --refine-context {} --refine-lr {}", a.training.steps,
                        a.training.batch, a.training.context, a.training.lr);
  }
  text += " --format " + a.format;
  return a.dtype.empty() ? text : text + " --dtype " + a.dtype;
}

models::ModelCard card_of(const CompressArguments& arguments, const CompressJob& job, const CompressedModel& made,
                          const ModelAccount& before, const ModelAccount& after) {
  models::ModelCard card{.base = arguments.model};
  card.base_bytes = before.bytes;
  card.base_sha256 = tasks::sha256_of_model(arguments.model);
  card.made_by = command_of(arguments, job);
  card.program = fmt::format("headroom {}", version());
  const auto part = [&](const char* name, const char* method, const std::vector<std::vector<int64_t>>& ranks) {
    models::ModelCard::Part own{.name = name, .method = method, .ranks = {}};
    for (const int64_t layer : tasks::changed_layers(made.plan))
      own.ranks.emplace_back(fmt::format("layer {}", layer),
                             fmt::format("{}", fmt::join(ranks[static_cast<size_t>(layer)], ", ")));
    card.parts.push_back(std::move(own));
  };
  if (job.plan.qk != tasks::QkMethod::none) part("queries and keys", name_of(job.plan.qk), made.plan.qk_ranks);
  if (job.plan.vo != tasks::VoMethod::none) part("values and output", name_of(job.plan.vo), made.plan.vo_ranks);
  const auto text = [](const TextRange& range) {
    return models::ModelCard::Text{range.file, range.sha256, range.begin, range.end};
  };
  if (job.calibration) card.calibration = text(*job.calibration);
  if (job.evaluation) card.evaluation = text(*job.evaluation);
  if (job.refinement)
    card.refinement =
        fmt::format("{}, {} steps of {} x {} tokens of {} [{}, {}), SHA-256 {}", arguments.refine,
                    arguments.training.steps, arguments.training.batch, arguments.training.context,
                    job.refinement->file, job.refinement->begin, job.refinement->end, job.refinement->sha256);
  const auto measure_of = [&](const std::string& name, double old, double now) {
    card.measures.push_back({.name = name, .before = old, .after = now});
  };
  measure_of("parameters", static_cast<double>(before.parameters), static_cast<double>(after.parameters));
  measure_of("key-value cache, bytes per token (f32)", before.cache_bytes, after.cache_bytes);
  if (after.perplexity) {
    measure_of(fmt::format("perplexity (disjoint {})", arguments.context), before.perplexity->ppl,
               after.perplexity->ppl);
    const PerplexityRatio ratio = perplexity_ratio(*after.perplexity);
    if (after.perplexity->windows > 1)
      card.notes.push_back(fmt::format("Perplexity over the original's: {:.4f} [{:.4f}, {:.4f}] at 95 %, {} windows.",
                                       ratio.value, ratio.low, ratio.high, after.perplexity->windows));
    card.measures.push_back({.name = "KL from the original, nats", .after = after.perplexity->against->kl_mean});
  }
  return card;
}

nlohmann::ordered_json json_of(const std::optional<TextRange>& range) {
  if (!range) return {};
  return {{"file", range->file}, {"sha256", range->sha256}, {"tokens", {range->begin, range->end}}};
}

nlohmann::ordered_json json_of(const CompressArguments& arguments, const CompressJob& job,
                               const CompressedModel& made) {
  nlohmann::ordered_json out{{"out", arguments.out},
                             {"format", arguments.format},
                             {"loads_in", models::loaded_by(job.format, arguments.out)},
                             {"qk_method", name_of(job.plan.qk)},
                             {"vo_method", name_of(job.plan.vo)},
                             {"ranks", rank_option(arguments)},
                             {"qk_ranks", made.plan.qk_ranks},
                             {"vo_ranks", made.plan.vo_ranks},
                             {"calibration", json_of(job.calibration)},
                             {"shortage", made.shortage},
                             {"evaluation", json_of(job.evaluation)},
                             {"context", arguments.context}};
  if (made.refinement)
    out["refinement"] = {{"target", arguments.refine},
                         {"steps", arguments.training.steps},
                         {"text", json_of(job.refinement)},
                         {"trained", made.refinement->trained},
                         {"first_loss", made.refinement->first_loss},
                         {"last_loss", made.refinement->last_loss}};
  return out;
}

std::unique_ptr<models::Transformer> loaded(const models::ModelFiles& files, engine::Device device, models::Keep keep) {
  const engine::DeviceScope scope(device);
  return files.load({.keep = keep});
}

/// The speeds of both models as `generate` runs them: weights as the files hold them.
void measure_files(const CompressArguments& arguments, const CompressJob& job, engine::Device device,
                   ModelAccount& before, ModelAccount& after) {
  const int64_t prompt = std::min<int64_t>(arguments.context, job.base->description().context - 32);
  const auto written = models::ModelFiles::open(arguments.out);
  const auto first = loaded(*job.base, device, models::Keep::stored),
             second = loaded(*written, device, models::Keep::stored);
  std::tie(before.speed, after.speed) = measure_speeds(*first, *second, prompt, 32);
}

void compress(CompressArguments& arguments) {
  const ModelScope scope(arguments.threads, arguments.device, engine::Activations::exact);
  const CompressJob job = job_of(arguments);
  if (!arguments.json)
    fmt::print("{} as {}: will load in {}\n", arguments.out, arguments.format,
               models::loaded_by(job.format, arguments.out));
  const engine::Device device = engine::device_of(arguments.device);
  arguments.training.note = [](const std::string& line) { write_note("headroom: " + line); };
  std::unique_ptr<models::Transformer> base = loaded(*job.base, device, models::Keep::computed);
  CompressedModel made;
  {
    ProgressLine line;
    made =
        make_compressed(arguments, job, *base, [&](const std::string& what, double share) { line.show(what, share); });
  }
  ModelAccount before = counted(job.base->description().config, arguments.context),
               after = counted(made.edit.config, arguments.context);
  before.bytes = models::model_bytes(arguments.model);
  measure(arguments, job, *base, made, before, after);
  base.reset();  // the files are loaded again below
  models::ExportOptions options{.force = arguments.force};
  if (!arguments.dtype.empty()) options.type = models::weight_type_named(arguments.dtype);
  options.card = card_of(arguments, job, made, before, after);
  const std::string calibration = calibration_note(job);
  for (const std::string& note : {made.shortage, calibration})
    if (!note.empty()) options.card->notes.push_back(note);
  const models::Conversion written = models::export_model(*job.base, made.edit, job.format, arguments.out, options);
  after.bytes = written.bytes;
  if (!arguments.without_speed) measure_files(arguments, job, device, before, after);
  const std::string size = size_note(arguments, job, made.edit, before, after);
  if (arguments.json) {
    nlohmann::ordered_json out = json_of(arguments, job, made);
    out["before"] = json_of(before);
    out["after"] = json_of(after);
    out["logit_error"] = written.logit_error;
    if (!size.empty()) out["size_note"] = size;
    if (!calibration.empty()) out["calibration_note"] = calibration;
    print_json(out);
    return;
  }
  for (const std::string& note : {made.shortage, calibration})
    if (!note.empty()) fmt::print("note     {}\n", note);
  if (made.refinement)
    fmt::print("refined  {} numbers in {} steps: loss {:.4g}, then {:.4g}\n", made.refinement->trained,
               arguments.training.steps, made.refinement->first_loss, made.refinement->last_loss);
  fmt::print("{}", table_of(before, after, arguments.context));
  if (!size.empty()) fmt::print("note     {}\n", size);
  for (const std::string& note : written.notes) fmt::print("note     {}\n", note);
  fmt::print("written  {}: {}, {}; read back: logits differ by at most {:.2g} of {:.3g}\n", arguments.out,
             written.written, models::size_text(written.bytes), written.logit_error, written.largest_logit);
}

}  // namespace

void add_compress_command(Command app) {
  const Command command = app.command("compress", "make the heads of a trained model smaller, and write it");
  const auto a = std::make_shared<CompressArguments>();
  add_model_argument(command, a->model);
  const Command cut = command.under("What to cut"), texts = command.under("Texts to calibrate and measure on"),
                refining = command.under("Refinement"), output = command.under("Output"),
                machine = command.under("Machine");
  cut.option("--part", a->part, "queries and keys, values and output, or both").one_of({"qk", "vo", "qk,vo"});
  cut.option("--method M", a->method,
             fmt::format("qk: {}; vo: {}", fmt::join(tasks::qk_method_names(), ", "),
                         fmt::join(tasks::vo_method_names(), ", ")))
      .required();
  cut.option("--vo-method M", a->vo_method, "of --part qk,vo, for the values (default: --method)");
  cut.option("--rank R", a->rank, "of every key-value head in these layers");
  cut.option("--mean-rank R", a->mean_rank,
             "in place of --rank: as many parameters as that rank takes, shared out over the heads by their loss on "
             "--calibrate");
  cut.option("--keep S", a->keep, "likewise: a share of the parameters of the part in those layers");
  cut.option("--cache S", a->cache, "likewise: a share of the whole key-value cache");
  cut.option("--kl X", a->kl, "likewise: the least that keeps the KL divergence from MODEL within X nats");
  cut.option("--vo-rank R", a->vo_rank, "of --part qk,vo, for the values (default: --rank)");
  cut.option("--layers", a->layers, "all, odd, deepest:4, random:4, or numbers and ranges from 0: 0-5,7");
  cut.option("--seed N", a->seed, "of random layers").show_default();
  texts.option("--calibrate FILE", a->calibrate, "the text from which methods that read activations are made")
      .path_by(tasks::named_text);
  texts.option("--calibrate-tokens A:B", a->calibrate_tokens,
               "tokens [A, B) of it, counted as the model's tokenizer does (default: the first 8192)");
  texts.option("--eval FILE", a->eval, "a text whose perplexity is measured before and after")
      .path_by(tasks::named_text);
  texts.option("--eval-tokens A:B", a->eval_tokens, "tokens [A, B) of it (default: the first 8192)");
  texts.option("--context N", a->context,
               "tokens that the model sees at once, in both texts (default: 512, or all that it takes)");
  refining.option("--refine", a->refine, "train the smaller heads towards this of MODEL")
      .one_of(tasks::refine_target_names());
  refining.option("--refine-text FILE", a->refine_text, "on this text (default: that of --calibrate)")
      .path_by(tasks::named_text);
  refining.option("--refine-tokens A:B", a->refine_tokens, "tokens [A, B) of it (default: the first 400000)");
  refining.option("--refine-steps N", a->training.steps, "of Adam");
  refining.option("--refine-batch B", a->training.batch, "windows of a step");
  refining.option("--refine-context N", a->training.context, "tokens of a window");
  refining.option("--refine-lr LR", a->training.lr, "the largest learning rate");
  refining
      .option("--checkpoint FILE", a->checkpoint,
              "where refinement is saved now and then: the same command goes on from there, to the same bits")
      .output_apart();
  output.option("-o,--out OUT", a->out, "FILE.gguf, or the folder to be made").required().output_apart();
  output
      .option("--format", a->format,
              "compat: full shapes, loads elsewhere; compact: smaller, loads here; plain: narrower heads that load "
              "elsewhere")
      .one_of({"compat", "compact", "plain"})
      .required();
  output
      .option("--dtype", a->dtype,
              "of the changed matrices and factors (default: f32; a folder in format compat has one for all)")
      .one_of({"f32", "f16", "bf16", "q8_0"});
  output.flag("--force", a->force, "overwrite what is there");
  output.flag("--no-speed", a->without_speed, "do not measure tokens per second");
  output.flag("--json", a->json, "one JSON object");
  machine.option("--device", a->device, "cpu or cuda: what runs the models; decompositions are the CPU's");
  add_threads_option(machine, a->threads);
  command.action([a] { compress(*a); });
}

}  // namespace headroom::experiments
