#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/allocator.h"
#include "engine/error.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/finetune_data.h"
#include "experiments/cli/model_arguments.h"
#include "experiments/cli/progress_line.h"
#include "experiments/run/memory_limit.h"
#include "experiments/run/provenance.h"
#include "experiments/run/units.h"
#include "models/export/export.h"
#include "models/pretrained/classifier.h"
#include "tasks/finetune/trained_part.h"
#include "tasks/pretrained/model_hash.h"

namespace headroom::experiments {
namespace {

using tasks::FinetuneNeed;
using tasks::TrainedPart;

struct FinetuneArguments {
  std::string model, out, part = "all", schedule = "cosine", checkpoint, log, format;
  FinetuneDataArguments data;
  std::optional<int64_t> steps;
  double epochs = 1, lr = 2e-5, weight_decay = 0, clip = 1;
  int64_t batch = 4, parts = 1, warmup = 0, seed = 0, save_every = 100;
  bool recompute = false, force = false, json = false;
  int threads = 0;
};

void check_numbers(const FinetuneArguments& a) {
  require(a.batch >= 1, "--batch: {} is below 1", a.batch);
  require(a.parts >= 1 && a.parts <= a.batch, "--accumulate: {} is not between 1 and --batch, which is {}", a.parts,
          a.batch);
  require(!a.steps || *a.steps >= 1, "--steps: {} is below 1", a.steps.value_or(0));
  require(std::isfinite(a.epochs) && a.epochs > 0, "--epochs: {} is not above 0", a.epochs);
  require(std::isfinite(a.lr) && a.lr > 0, "--lr: {} is not above 0", a.lr);
  require(std::isfinite(a.weight_decay) && a.weight_decay >= 0, "--weight-decay: {} is below 0", a.weight_decay);
  require(std::isfinite(a.clip) && a.clip >= 0, "--clip: {} is below 0", a.clip);
  require(a.seed >= 0, "--seed: {} is below 0", a.seed);
  require(a.save_every >= 1, "--save-every: {} is below 1", a.save_every);
}

int64_t steps_of(const FinetuneArguments& a, const FinetuneData& data) {
  const double epochs = a.epochs * static_cast<double>(data.steps_per_epoch(a.batch));
  require(epochs < 1e9, "--epochs: {} make {:.3g} steps", a.epochs, epochs);
  const int64_t steps = a.steps.value_or(static_cast<int64_t>(std::ceil(epochs)));
  require(a.warmup >= 0 && a.warmup < steps, "--warmup: {} is not between 0 and the last of {} steps", a.warmup, steps);
  return steps;
}

tasks::TrainerConfig trainer_config(const FinetuneArguments& a, int64_t steps) {
  tasks::TrainerConfig config;
  config.optimizer = {.kind = "adamw", .lr = a.lr, .weight_decay = a.weight_decay};
  if (a.warmup > 0) config.schedule.push_back({.kind = "warmup", .warmup = a.warmup});
  if (a.schedule == "cosine")
    config.schedule.push_back({.kind = "cosine", .steps = steps - a.warmup, .start = a.warmup});
  config.clip = a.clip;
  config.batch = a.batch;
  config.accumulate = a.parts;
  return config;
}

/// Throws Error, with what would fit, where the memory cannot hold the training.
void check_memory(const FinetuneArguments& a, TrainedPart part, models::TransformerConfig config, int64_t length) {
  const int64_t sequences = (a.batch + a.parts - 1) / a.parts;
  const FinetuneNeed need = finetune_need(part, config, sequences, length);
  const MemoryLimit limit = memory_limit();
  if (need.total() <= limit.bytes) return;
  const auto fits = [&](bool recompute, int64_t at_once) {
    config.checkpoint_blocks = recompute;
    return finetune_need(part, config, at_once, length).total() <= limit.bytes;
  };
  std::string advice = "a smaller model would fit, or --train heads";
  if (fits(true, sequences)) advice = "--recompute would fit";
  else if (fits(a.recompute, 1)) advice = fmt::format("--accumulate {} would fit", a.batch);
  else if (fits(true, 1)) advice = fmt::format("--recompute --accumulate {} would fit", a.batch);
  fail("the training needs at least {} of memory (weights, gradients and moments {}, activations {}), and {} is {}: {}",
       bytes_text(need.total()), bytes_text(need.state), bytes_text(need.activations), limit.source,
       bytes_text(limit.bytes), advice);
}

/// All that decides the bits of the result; how often it is saved and computed again is left out.
tasks::FinetuneSettings settings_of(const FinetuneArguments& a, const FinetuneData& data, int64_t steps) {
  tasks::FinetuneSettings settings{{"MODEL", tasks::sha256_of_model(a.model)},
                                   {"--train", a.part},
                                   {"--steps", std::to_string(steps)},
                                   {"--batch", std::to_string(a.batch)},
                                   {"--accumulate", std::to_string(a.parts)},
                                   {"--lr", fmt::format("{}", a.lr)},
                                   {"--schedule", a.schedule},
                                   {"--warmup", std::to_string(a.warmup)},
                                   {"--weight-decay", fmt::format("{}", a.weight_decay)},
                                   {"--clip", fmt::format("{}", a.clip)},
                                   {"--seed", std::to_string(a.seed)}};
  for (auto& setting : data.settings()) settings.push_back(std::move(setting));
  return settings;
}

/// The log: one JSON object a step. Steps that a checkpoint already has are written again, so that nothing of a killed
/// run's is left in it.
class StepLog {
 public:
  StepLog(const FinetuneArguments& arguments, const FinetuneData& data) : arguments_(arguments), data_(data) {
    if (arguments.log.empty()) return;
    file_.open(arguments.log);
    require(file_.is_open(), "{}: cannot be written", arguments.log);
  }
  void add(const tasks::FinetuneStep& s) {
    if (!file_.is_open()) return;
    const nlohmann::ordered_json line{
        {"step", s.step},
        {"loss", s.loss},
        {"gradient_norm", s.gradient_norm},
        {"learning_rate", s.learning_rate},
        {"tokens", s.tokens},
        {"seconds", s.seconds},
        {"examples", data_.examples(s.step - 1, arguments_.batch, static_cast<uint64_t>(arguments_.seed))}};
    file_ << line.dump() << std::endl;
    require(file_.good(), "{}: cannot be written", arguments_.log);
  }

 private:
  const FinetuneArguments& arguments_;
  const FinetuneData& data_;
  std::ofstream file_;
};

struct FinetuneResult {
  tasks::Metrics before, after;
  std::vector<tasks::FinetuneStep> steps;
  int64_t trained = 0, parameters = 0, resumed_at = 0;
  models::Conversion written;
};

double tokens_per_second(const std::vector<tasks::FinetuneStep>& steps) {
  double tokens = 0, seconds = 0;
  for (const tasks::FinetuneStep& step : steps) tokens += static_cast<double>(step.tokens), seconds += step.seconds;
  return seconds > 0 ? tokens / seconds : 0;
}

void print_json(const FinetuneArguments& a, const FinetuneResult& r) {
  std::vector<double> losses;
  for (const tasks::FinetuneStep& step : r.steps) losses.push_back(step.loss);
  const nlohmann::ordered_json out{{"model", a.model},
                                   {"out", a.out},
                                   {"train", a.part},
                                   {"trained", r.trained},
                                   {"parameters", r.parameters},
                                   {"steps", r.steps.size()},
                                   {"resumed_at", r.resumed_at},
                                   {"losses", losses},
                                   {"before", r.before},
                                   {"after", r.after},
                                   {"tokens_per_second", tokens_per_second(r.steps)},
                                   {"written", r.written.written},
                                   {"notes", r.written.notes}};
  fmt::print("{}\n", out.dump());
}

models::Conversion write_out(const FinetuneArguments& a, const models::ModelFiles& base, const models::ModelEdit& edit,
                             models::ExportFormat format, const FinetuneData& data, const FinetuneResult& result) {
  models::ModelCard card;
  card.change = "fine-tuned";
  card.base = base.path().filename().string();
  card.base_sha256 = tasks::sha256_of_model(base.path());
  card.made_by = fmt::format("headroom {} finetune, {} steps of {} sequences, AdamW, learning rate {}, seed {}",
                             version(), result.steps.size(), a.batch, a.lr, a.seed);
  for (const auto& [name, after] : result.after)
    if (name != "stderr" && result.before.contains(name))
      card.measures.push_back({name, result.before.at(name), after});
  const std::string& file = a.data.text.empty() ? a.data.table : a.data.text;
  card.notes.push_back(fmt::format("trained on {}, SHA-256 {}", std::filesystem::path(file).filename().string(),
                                   data.settings().front().second));
  return export_model(base, edit, format, a.out, {.force = a.force, .card = card});
}

void finetune(FinetuneArguments& a) {
  const engine::ThreadScope threads(a.threads > 0 ? a.threads : engine::num_threads());
  const engine::ActivationsScope exact(engine::Activations::exact);
  check_numbers(a);
  const TrainedPart part = tasks::trained_part_named(a.part);
  const auto base = models::ModelFiles::open(a.model);
  models::check_target(a.model, a.out, a.force);
  const auto data = read_finetune_data(a.data, *base, base->tokenizer());
  const int64_t steps = steps_of(a, *data);
  const auto seed = static_cast<uint64_t>(a.seed);
  engine::Rng rng(seed);
  models::ModelEdit edit{base->description().config, {}};
  if (data->classes()) edit = models::classifier_of(std::move(edit), *data->classes(), rng);
  const auto format = models::export_format_named(!a.format.empty() ? a.format
                                                  : data->classes() ? "compact"
                                                                    : "compat");
  const std::string refusal = models::refusal_of(format, *base, edit.config, a.out);
  require(refusal.empty(), "{}", refusal);
  models::TransformerConfig config = edit.config;
  edit.config.checkpoint_blocks = a.recompute;
  check_memory(a, part, edit.config, data->longest());

  FinetuneResult result;
  {
    const auto model = models::load(*base, edit, load_options(part, edit.config));
    tasks::Trainer trainer(*model, data->objective(), trainer_config(a, steps), rng);
    if (!a.checkpoint.empty()) std::filesystem::create_directories(a.checkpoint);
    const std::filesystem::path file =
        a.checkpoint.empty() ? std::filesystem::path() : std::filesystem::path(a.checkpoint) / "finetune.safetensors";
    tasks::Finetuning training(trainer, file, settings_of(a, *data, steps));
    result.parameters = model->parameter_count();
    for (const autograd::Parameter& parameter : model->parameters()) result.trained += parameter.var.value().numel();
    const auto measure = [&](const char* when) {
      ProgressLine line;
      return data->measure(*model, [&](double share) {
        line.show(fmt::format("measuring {} the training  {:.0f} %", when, 100 * share), share);
      });
    };
    const bool is_resumed = training.resume();
    result.resumed_at = trainer.steps_done();
    if (!is_resumed) training.before = measure("before");
    if (!a.json) {
      fmt::print("trained  {} of {} parameters ({})\n", result.trained, result.parameters, a.part);
      fmt::print("written  will load in {}\n", models::loaded_by(format, a.out));
      if (is_resumed) fmt::print("resumed  after step {} of {}\n", result.resumed_at, steps);
      fmt::print("before   {}\n", data->words(training.before));
      std::fflush(stdout);
    }
    StepLog log(a, *data);
    for (const tasks::FinetuneStep& step : training.log()) log.add(step);
    {
      ProgressLine line;
      training.run(
          steps, a.save_every, [&](int64_t step) { return data->tokens(step, a.batch, seed); },
          [&](const tasks::FinetuneStep& s) {
            log.add(s);
            line.show(fmt::format("step {}/{}  loss {:.4f}  {:.0f} tokens/s", s.step, steps, s.loss,
                                  static_cast<double>(s.tokens) / s.seconds),
                      static_cast<double>(s.step) / static_cast<double>(steps));
          });
    }
    result.before = training.before;
    result.after = measure("after");
    result.steps = training.log();
    edit.config = config;
    for (const autograd::Parameter& parameter : model->parameters()) {
      std::erase_if(edit.weights, [&](const auto& weight) { return weight.first == parameter.name; });
      edit.weights.emplace_back(parameter.name, parameter.var.value());
    }
  }
  engine::empty_cache();  // moments and activations, before the new model is read back
  if (!a.json) {
    fmt::print("after    {}\n", data->words(result.after));
    fmt::print("loss     {:.4f} to {:.4f} in {} steps, {:.0f} tokens/s\n", result.steps.front().loss,
               result.steps.back().loss, steps, tokens_per_second(result.steps));
    std::fflush(stdout);
  }
  result.written = write_out(a, *base, edit, format, *data, result);
  if (a.json) return print_json(a, result);
  for (const std::string& note : result.written.notes) fmt::print("note     {}\n", note);
  fmt::print("written  {}: {}\n", a.out, result.written.written);
}

void add_data_options(Command command, FinetuneDataArguments& data) {
  command.option("--text", data.text, "a text file to train on: the next token, in windows of --context tokens")
      .value_name("FILE");
  command
      .option("--table", data.table,
              "labelled sentences to train a classifier on: a table with tabs, its columns named in the first line")
      .value_name("FILE");
  command.option("--text-column", data.text_column, "of the sentences (default: the only one beside the label's)")
      .value_name("COLUMN");
  command.option("--label-column", data.label_column, "of the class numbers, from 0")
      .value_name("COLUMN")
      .show_default();
  command.option("--max-examples", data.max_examples, "train on the first N sentences only").value_name("N");
  command
      .option("--validate", data.validate,
              "a text or table to measure on before and after (default: the last tenth of the training file, which is "
              "not trained on)")
      .value_name("FILE");
  command
      .option("--validate-column", data.validate_column,
              "of the sentences there (default: the only one beside the label's)")
      .value_name("COLUMN");
  command.option("--validate-tokens", data.validate_tokens, "of a text, measure on the first N tokens")
      .value_name("N")
      .show_default();
  command
      .option("--context", data.context,
              "tokens of a window of the text (default: 256, or the model's where that is shorter)")
      .value_name("T");
}

}  // namespace

void add_finetune_command(Command app) {
  const Command command = app.command("finetune", "train a trained model further, on a text or on labelled sentences");
  const auto a = std::make_shared<FinetuneArguments>();
  command.option("MODEL", a->model, "a GGUF file, or a folder with config.json and safetensors").required();
  command.option("-o,--out", a->out, "FILE.gguf, or the folder to be made").value_name("OUT").required();
  add_data_options(command, a->data);
  command
      .option("--train", a->part,
              "all weights, the matrices (or factors) of queries and keys, or the readout; a classifier's readout is "
              "new, and always trained")
      .one_of({"all", "heads", "head"})
      .show_default();
  const Option epochs =
      command.option("--epochs", a->epochs, "times through the training file").value_name("E").show_default();
  command.option("--steps", a->steps, "in place of --epochs").value_name("N").excludes(epochs);
  command.option("--batch", a->batch, "sequences of a step").value_name("B").show_default();
  command.option("--accumulate", a->parts, "parts of a batch, one after the other; their gradients add up")
      .value_name("N")
      .show_default();
  command.option("--lr", a->lr, "AdamW's learning rate").show_default();
  command.option("--schedule", a->schedule, "of the learning rate: cosine falls to 0")
      .one_of({"constant", "cosine"})
      .show_default();
  command.option("--warmup", a->warmup, "first steps, in which the learning rate rises").value_name("N");
  command.option("--weight-decay", a->weight_decay, "of matrices").show_default();
  command.option("--clip", a->clip, "largest norm of the gradient; 0: any").show_default();
  command.option("--seed", a->seed, "of the order of examples and of a new readout").show_default();
  command.flag("--recompute", a->recompute, "compute each layer again in the backward pass: less memory, more time");
  command
      .option("--checkpoint", a->checkpoint,
              "save the training here, and go on from what is here: killed and run again, it ends in the same bits")
      .value_name("DIR");
  command.option("--save-every", a->save_every, "steps between two saves").value_name("N").show_default();
  command.option("--log", a->log, "each step as a JSON object on a line").value_name("FILE");
  command
      .option("--format", a->format,
              "compat loads in other software, compact here only (default: compat, of a classifier compact)")
      .one_of({"compat", "compact", "plain"});
  command.flag("--force", a->force, "replace what has OUT's name");
  command.flag("--json", a->json, "the result as one JSON object");
  command.option("--threads", a->threads, "default: HEADROOM_THREADS, else all cores").range(1, 4096);
  command.action([a] { finetune(*a); });
}

}  // namespace headroom::experiments
