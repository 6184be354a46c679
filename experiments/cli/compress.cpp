#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/model_arguments.h"
#include "experiments/cli/progress_line.h"
#include "experiments/compress/accounting.h"
#include "experiments/compress/text_range.h"
#include "models/export/export.h"
#include "tasks/compression/layer_set.h"
#include "tasks/compression/methods.h"
#include "tasks/compression/perplexity_base.h"
#include "tasks/data/sha256.h"

namespace headroom::experiments {
namespace {

constexpr int64_t usual_tokens = 8192;  ///< of a text whose range is not given

struct CompressArguments {
  std::string model, out, part = "qk", method, vo_method, layers = "all", format, dtype;
  std::string calibrate, calibrate_tokens, eval, eval_tokens;
  int64_t rank = 0, vo_rank = 0, context = 0, seed = 0;
  int threads = 0;
  bool force = false, json = false, without_speed = false;
};

/// What is to be done, all of it checked before a weight is read.
struct Job {
  std::unique_ptr<models::ModelFiles> base;
  tasks::CompressionPlan plan{};
  models::ExportFormat format{};
  std::optional<TextRange> calibration{}, evaluation{};
};

bool has_part(const CompressArguments& arguments, const char* part) {
  return arguments.part == part || arguments.part == "qk,vo";
}

tasks::CompressionPlan plan_of(const CompressArguments& arguments, const models::TransformerConfig& config) {
  using tasks::QkMethod, tasks::VoMethod;
  require(arguments.rank >= 1, "--rank {}: wants 1 or more", arguments.rank);
  const bool has_qk = has_part(arguments, "qk"), has_vo = has_part(arguments, "vo");
  const QkMethod qk = has_qk ? tasks::qk_method_named(arguments.method) : QkMethod::none;
  VoMethod vo = VoMethod::none;
  if (has_vo) vo = tasks::vo_method_named(arguments.vo_method.empty() ? arguments.method : arguments.vo_method);
  require(has_vo || (arguments.vo_method.empty() && arguments.vo_rank == 0),
          "--vo-method and --vo-rank are of --part vo");
  const int64_t vo_rank = arguments.vo_rank == 0 ? arguments.rank : arguments.vo_rank;
  tasks::require_suited(qk, config);
  const auto layers = tasks::layers_named(arguments.layers, config.layers, static_cast<uint64_t>(arguments.seed));
  const tasks::CompressionPlan plan = tasks::uniform_plan(config, qk, vo, arguments.rank, vo_rank, layers);
  tasks::validate(plan, config);
  return plan;
}

Job job_of(CompressArguments& arguments) {
  Job job{.base = models::ModelFiles::open(arguments.model)};
  const models::ModelDescription& description = job.base->description();
  require(description.not_run.empty(), "{}: is not run here: {}", arguments.model,
          fmt::join(description.not_run, "; "));
  job.plan = plan_of(arguments, description.config);
  job.format = models::export_format_named(arguments.format);
  const std::string refusal =
      models::refusal_of(job.format, *job.base, tasks::compressed_config(description.config, job.plan), arguments.out);
  require(refusal.empty(), "{}: {}", arguments.out, refusal);
  models::check_target(arguments.model, arguments.out, arguments.force);
  models::check_card(arguments.out, arguments.force);
  const int64_t longest = description.sliding_window.value_or(description.context);
  if (arguments.context == 0) arguments.context = std::min<int64_t>(512, longest);
  require(arguments.context >= 4 && arguments.context <= longest, "--context {}: wants 4 to {}, the model's",
          arguments.context, longest);
  const bool reads_activations = (tasks::needs_of(job.plan.qk) | tasks::needs_of(job.plan.vo)).any();
  require(!reads_activations || !arguments.calibrate.empty(),
          "method {} is made from what the heads do on a text: wants --calibrate FILE", arguments.method);
  const auto tokenizer = job.base->tokenizer();
  if (reads_activations)
    job.calibration = text_range(arguments.calibrate, tokens_of_file(arguments.calibrate, *tokenizer),
                                 arguments.calibrate_tokens, usual_tokens, "--calibrate-tokens");
  if (!arguments.eval.empty()) {
    job.evaluation = text_range(arguments.eval, tokens_of_file(arguments.eval, *tokenizer), arguments.eval_tokens,
                                usual_tokens, "--eval-tokens");
    require(job.evaluation->count() >= arguments.context, "{}: {} tokens are fewer than the context of {}",
            arguments.eval, job.evaluation->count(), arguments.context);
  }
  if (job.calibration && job.evaluation) require_disjoint(*job.calibration, *job.evaluation);
  return job;
}

std::optional<int64_t> bos_of(const models::ModelDescription& description) {
  return description.add_bos ? description.bos : std::nullopt;
}

tasks::Calibration calibration_of(const CompressArguments& arguments, const Job& job,
                                  const models::Transformer& model) {
  if (!job.calibration) return {};
  const std::vector<int32_t>& tokens = job.calibration->tokens;
  ProgressLine line;
  return tasks::calibrate(
      model, tasks::pieces_of(tokens, 0, std::ssize(tokens), arguments.context, bos_of(job.base->description())),
      {.needs = tasks::needs_of(job.plan.qk) | tasks::needs_of(job.plan.vo),
       .layers = tasks::changed_layers(job.plan),
       .progress = [&](int64_t done, int64_t all) {
         line.show(fmt::format("calibration: layer {} of {}", done, all),
                   static_cast<double>(done) / static_cast<double>(all));
       }});
}

void measure(const CompressArguments& arguments, const Job& job, const models::Transformer& base,
             const models::ModelEdit& edit, ModelAccount& before, ModelAccount& after) {
  const auto compressed = models::load(base, edit);
  if (!arguments.without_speed) {
    const int64_t prompt = std::min<int64_t>(arguments.context, job.base->description().context - 32);
    before.speed = measure_speed(base, prompt, 32);
    after.speed = measure_speed(*compressed, prompt, 32);
  }
  if (!job.evaluation) return;
  std::vector<int32_t> tokens = job.evaluation->tokens;
  if (const auto bos = bos_of(job.base->description())) tokens.insert(tokens.begin(), static_cast<int32_t>(*bos));
  const auto tokenizer = job.base->tokenizer();
  const tasks::PerplexityBase measured(base, *tokenizer, std::move(tokens), {.context = arguments.context});
  before.perplexity = measured.uncompressed();
  after.perplexity = measured.measure(*compressed, *tasks::changed_layers(job.plan).begin());
}

models::ModelCard card_of(const CompressArguments& arguments, const Job& job, const ModelAccount& before,
                          const ModelAccount& after) {
  models::ModelCard card{.base = arguments.model};
  if (!std::filesystem::is_directory(arguments.model)) card.base_sha256 = tasks::sha256_of_file(arguments.model);
  card.made_by = fmt::format("headroom compress --part {} --method {} --rank {} --layers {}", arguments.part,
                             arguments.method, arguments.rank, arguments.layers);
  const auto part = [&](const char* name, const char* method, const std::vector<std::vector<int64_t>>& ranks) {
    models::ModelCard::Part own{.name = name, .method = method, .ranks = {}};
    for (const int64_t layer : tasks::changed_layers(job.plan))
      own.ranks.emplace_back(fmt::format("layer {}", layer),
                             fmt::format("{}", fmt::join(ranks[static_cast<size_t>(layer)], ", ")));
    card.parts.push_back(std::move(own));
  };
  if (job.plan.qk != tasks::QkMethod::none) part("queries and keys", name_of(job.plan.qk), job.plan.qk_ranks);
  if (job.plan.vo != tasks::VoMethod::none) part("values and output", name_of(job.plan.vo), job.plan.vo_ranks);
  const auto text = [](const TextRange& range) {
    return models::ModelCard::Text{range.file, range.sha256, range.begin, range.end};
  };
  if (job.calibration) card.calibration = text(*job.calibration);
  if (job.evaluation) card.evaluation = text(*job.evaluation);
  const auto measure_of = [&](const std::string& name, double old, double now) {
    card.measures.push_back({.name = name, .before = old, .after = now});
  };
  measure_of("parameters", static_cast<double>(before.parameters), static_cast<double>(after.parameters));
  measure_of("key-value cache, bytes per token (f32)", before.cache_bytes, after.cache_bytes);
  if (after.perplexity) {
    measure_of(fmt::format("perplexity (disjoint {})", arguments.context), before.perplexity->ppl,
               after.perplexity->ppl);
    card.measures.push_back({.name = "KL from the original, nats", .after = after.perplexity->against->kl_mean});
  }
  return card;
}

void compress(CompressArguments& arguments) {
  const engine::ThreadScope threads(arguments.threads > 0 ? arguments.threads : engine::num_threads());
  const Job job = job_of(arguments);
  const std::string loads = models::loaded_by(job.format, arguments.out);
  if (!arguments.json) fmt::print("{} as {}: will load in {}\n", arguments.out, arguments.format, loads);
  const auto base = job.base->load({.keep = models::Keep::computed});
  const tasks::Calibration calibration = calibration_of(arguments, job, *base);
  const models::HeadGroup head = models::first_layer(job.base->description().config).groups.at(0);
  const std::string shortage = job.calibration ? calibration.shortage(std::max(head.qk_dim, head.v_dim)) : "";
  if (!shortage.empty() && !arguments.json) fmt::print("note     {}\n", shortage);
  const models::ModelEdit edit =
      tasks::HeadDecompositions(*job.base, job.plan.qk, job.plan.vo, calibration, tasks::changed_layers(job.plan))
          .edit(job.plan);
  ModelAccount before = counted(job.base->description().config, arguments.context),
               after = counted(edit.config, arguments.context);
  measure(arguments, job, *base, edit, before, after);
  models::ExportOptions options{.force = arguments.force};
  if (!arguments.dtype.empty()) options.type = models::weight_type_named(arguments.dtype);
  options.card = card_of(arguments, job, before, after);
  if (!shortage.empty()) options.card->notes.push_back(shortage);
  const models::Conversion written = models::export_model(*job.base, edit, job.format, arguments.out, options);
  if (!arguments.json) {
    fmt::print("{}", table_of(before, after, arguments.context));
    for (const std::string& note : written.notes) fmt::print("note     {}\n", note);
    fmt::print("written  {}: {}, read back: logits differ by at most {:.2g} of {:.3g}\n", arguments.out,
               written.written, written.logit_error, written.largest_logit);
    return;
  }
  const auto text = [](const std::optional<TextRange>& range) {
    return range ? nlohmann::ordered_json{{"file", range->file},
                                          {"sha256", range->sha256},
                                          {"tokens", {range->begin, range->end}}}
                 : nlohmann::ordered_json();
  };
  const nlohmann::ordered_json out{{"out", arguments.out},
                                   {"format", arguments.format},
                                   {"loads_in", loads},
                                   {"qk_method", name_of(job.plan.qk)},
                                   {"vo_method", name_of(job.plan.vo)},
                                   {"qk_ranks", job.plan.qk_ranks},
                                   {"vo_ranks", job.plan.vo_ranks},
                                   {"calibration", text(job.calibration)},
                                   {"shortage", shortage},
                                   {"evaluation", text(job.evaluation)},
                                   {"context", arguments.context},
                                   {"before", json_of(before)},
                                   {"after", json_of(after)},
                                   {"logit_error", written.logit_error}};
  fmt::print("{}\n", out.dump());
}

}  // namespace

void add_compress_command(Command app) {
  const Command command = app.command("compress", "make the heads of a trained model smaller, and write it");
  const auto a = std::make_shared<CompressArguments>();
  command.option("MODEL", a->model, "a GGUF file, or a folder with config.json and safetensors").required();
  command.option("-o,--out", a->out, "FILE.gguf, or the folder to be made").value_name("OUT").required();
  command.option("--part", a->part, "queries and keys, values and output, or both")
      .one_of({"qk", "vo", "qk,vo"})
      .show_default();
  command
      .option("--method", a->method,
              fmt::format("qk: {}; vo: {}", fmt::join(tasks::qk_method_names(), ", "),
                          fmt::join(tasks::vo_method_names(), ", "))
                  .c_str())
      .value_name("M")
      .required();
  command.option("--vo-method", a->vo_method, "of --part qk,vo, for the values (default: --method)").value_name("M");
  command.option("--rank", a->rank, "of every key-value head of the layers").value_name("R").required();
  command.option("--vo-rank", a->vo_rank, "of --part qk,vo, for the values (default: --rank)").value_name("R");
  command.option("--layers", a->layers, "all, odd, deepest:4, random:4, or numbers and ranges from 0: 0-5,7")
      .show_default();
  command.option("--seed", a->seed, "of random layers").value_name("N").show_default();
  command.option("--calibrate", a->calibrate, "a text that methods which read activations are made from")
      .value_name("FILE");
  command
      .option("--calibrate-tokens", a->calibrate_tokens,
              "tokens [A, B) of it, counted as the model's tokenizer does (default: the first 8192)")
      .value_name("A:B");
  command.option("--eval", a->eval, "a text whose perplexity is measured before and after").value_name("FILE");
  command.option("--eval-tokens", a->eval_tokens, "tokens [A, B) of it (default: the first 8192)").value_name("A:B");
  command
      .option("--context", a->context,
              "tokens that the model sees at once, in both texts (default: 512, or all that it takes)")
      .value_name("N");
  command
      .option("--format", a->format,
              "compat: full shapes, loads elsewhere; compact: smaller, loads here; plain: narrower heads that load "
              "elsewhere")
      .one_of({"compat", "compact", "plain"})
      .required();
  command.option("--dtype", a->dtype, "of the changed matrices (default: f32; a folder has one for all)")
      .one_of({"f32", "f16", "bf16", "q8_0"});
  command.flag("--force", a->force, "replace what has the name");
  command.flag("--no-speed", a->without_speed, "measure no tokens per second");
  command.option("--threads", a->threads, "default: HEADROOM_THREADS, else all cores").range(1, 4096);
  command.flag("--json", a->json, "one JSON object");
  command.action([a] { compress(*a); });
}

}  // namespace headroom::experiments
