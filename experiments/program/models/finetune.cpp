#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/allocator.h"
#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/progress_line.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/finetune.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/program/ranks/ranks.h"
#include "experiments/tools/compress/divergence.h"
#include "experiments/tools/compress/size_note.h"
#include "experiments/version.h"
#include "models/adapters/adapter_files.h"
#include "models/checkpoints/compact_model.h"
#include "models/checkpoints/model_edit.h"
#include "models/files/atomic_file.h"
#include "models/files/file_size.h"
#include "models/files/output.h"
#include "models/write/export.h"
#include "tasks/data/sha256.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {
namespace {

/// The file of --log. It gets its name together with the model: a killed run leaves no log in its way.
using StepLog = std::optional<models::AtomicFile>;

/// Writes one JSON object per step. Steps that a checkpoint already has are written again, so the log keeps nothing of
/// a killed run.
void add_step(StepLog& log, const FinetuneArguments& a, const FinetuneData& data, const tasks::FinetuneStep& s) {
  if (!log) return;
  const nlohmann::ordered_json line{{"step", s.step},
                                    {"loss", s.loss},
                                    {"gradient_norm", s.gradient_norm},
                                    {"learning_rate", s.learning_rate},
                                    {"tokens", s.tokens},
                                    {"seconds", s.seconds},
                                    {"examples", data.examples(s.step - 1, a.batch, static_cast<uint64_t>(a.seed))}};
  const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  log->write(text.data(), text.size());
}

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

void print_as_json(const FinetuneArguments& a, const tasks::TextCut& cut, const FinetuneResult& r) {
  std::vector<double> losses;
  for (const tasks::FinetuneStep& step : r.steps) losses.push_back(step.loss);
  nlohmann::ordered_json out{{"model", a.model},
                             {"out", a.out},
                             {"train", trained_words(a)},
                             {"trained", r.trained},
                             {"parameters", r.parameters},
                             {"steps", r.steps.size()},
                             {"resumed_at", r.resumed_at},
                             {"losses", losses},
                             {"before", r.before},
                             {"after", r.after},
                             {"tokens_per_second", tokens_per_second(r.steps)},
                             {"written", r.written.written},
                             {"file_bytes", r.written.bytes},
                             {"notes", r.written.notes}};
  add_text_cut(cut, out);
  print_json(out);
}

/// What is trained, on what, and what comes out: known before anything is computed.
struct FinetuneJob {
  std::unique_ptr<models::ModelFiles> base;
  std::unique_ptr<FinetuneData> data;
  tasks::TextCut cut{};    ///< how its texts became tokens
  models::ModelEdit edit;  ///< the model before the first step: with a new readout where it becomes a classifier
  std::optional<models::Adapter> adapter{};  ///< what is trained and written in place of the edit
  models::ExportFormat format = models::ExportFormat::compat;
  std::optional<models::WeightType> type{};
  int64_t steps = 0;
  engine::Rng rng;
};

/// The format of the trained model: as requested, else one that keeps a compressed model compressed if OUT can hold it.
models::ExportFormat format_of(const FinetuneArguments& a) {
  if (!a.format.empty()) return models::export_format_named(a.format);
  const bool stays = models::is_compact_folder(a.model) && std::filesystem::path(a.out).extension() != ".gguf";
  return stays ? models::ExportFormat::compact : models::ExportFormat::compat;
}

/// A new adapter, of the parts that --lora-on lists.
models::Adapter new_adapter(const FinetuneArguments& a, const models::ModelFiles& base, engine::Rng& rng) {
  std::vector<std::string> parts;
  std::istringstream list(a.lora_on);
  for (std::string part; std::getline(list, part, ',');) parts.push_back(part);
  return models::drawn_adapter(base, *a.lora_rank, a.lora_alpha, parts, rng);
}

/// Throws Error for whatever would stop the training or its output.
FinetuneJob finetune_job(const FinetuneArguments& a) {
  check_numbers(a);
  FinetuneJob job{.base = models::ModelFiles::open(a.model), .data = {}, .edit = {}, .rng = engine::Rng(a.seed)};
  models::check_target(a.model, a.out, a.force);
  if (!a.lora_rank) models::check_card(a.out, a.force);
  std::shared_ptr<const models::Tokenizer> tokenizer = job.base->tokenizer();
  job.cut = tasks::text_cut(job.base->description(), *tokenizer);
  job.data = read_finetune_data(a.data, *job.base, std::move(tokenizer));
  job.steps = steps_of(a, *job.data);
  job.edit.config = job.base->description().config;
  const std::optional<int64_t> classes = job.data->classes();
  // A classifier of as many classes goes on with the readout that it has.
  const bool is_classifier = job.edit.config.pooling == models::Pooling::last;
  if (classes && !(is_classifier && job.edit.config.output_dim == *classes)) {
    require(!a.lora_rank,
            "--lora-rank: {} is no classifier of {} classes, and an adapter holds no new readout: make one first, "
            "without --lora-rank",
            a.model, *classes);
    job.edit = models::classifier_of(std::move(job.edit), *classes, job.rng);
  }
  if (a.lora_rank) job.adapter = new_adapter(a, *job.base, job.rng);
  job.format = format_of(a);
  if (!a.dtype.empty()) job.type = models::weight_type_named(a.dtype);
  if (job.format != models::ExportFormat::compact) models::check_type(a.out, job.type);
  const std::string refusal = job.adapter ? "" : models::refusal_of(job.format, *job.base, job.edit.config, a.out);
  require(refusal.empty(), "{}", refusal);
  job.edit.config.checkpoint_blocks = a.recompute;
  check_memory(a, job.edit.config, job.data->longest(), job.adapter ? job.adapter->parameter_count() : 0);
  return job;
}

void print_start(const FinetuneArguments& a, const FinetuneJob& job, const FinetuneResult& result) {
  if (a.json) return;
  print_text("trained  {} of {} parameters ({})\n", result.trained, result.parameters, trained_words(a));
  const bool is_gguf = std::filesystem::path(a.out).extension() == ".gguf";
  print_text("written  will load in {}\n", !job.adapter ? models::loaded_by(job.format, a.out)
                                           : is_gguf    ? "headroom, llama.cpp"
                                                        : "headroom, PEFT");
  print_text("texts    {}\n", job.cut.words());
  if (result.resumed_at > 0) print_text("resumed  after step {} of {}\n", result.resumed_at, job.steps);
  print_text("before   {}\n", job.data->words(result.before));
  std::fflush(stdout);
}

/// The model on --device.
std::unique_ptr<models::Transformer> loaded(const FinetuneArguments& a, const FinetuneJob& job) {
  const engine::DeviceScope scope(engine::device_of(a.device));
  if (job.adapter)
    return models::load(*job.base, *job.adapter, job.edit.config,
                        {.keep = models::Keep::stored, .weights = {.is_trained = models::none_trained}},
                        models::AdapterUse::trained);
  return models::load(*job.base, job.edit, load_options(tasks::trained_part_named(a.part), job.edit.config));
}

/// The checkpoint from which all ranks continue. They must have the same settings, model, data and kernels.
std::filesystem::path begun_together(tasks::Ranks& ranks, engine::Device device,
                                     const tasks::FinetuneSettings& settings, const std::filesystem::path& file,
                                     std::optional<tasks::FileOfFirst>& common) {
  std::string own = fmt::format("{}, {}", version_text(), tasks::kernels_of(device));
  for (const auto& [name, value] : settings) own += fmt::format(", {} {}", name, value);
  tasks::check_same(ranks, own);
  common.emplace(ranks, file);
  return ranks.is_first() ? file : common->path();
}

/// Trains, and leaves the trained weights in the job's edit.
FinetuneResult train(const FinetuneArguments& a, FinetuneJob& job, StepLog& log, tasks::Ranks* ranks) {
  FinetuneResult result;
  const FinetuneData& data = *job.data;
  const auto seed = static_cast<uint64_t>(a.seed);
  // Tries the output files before the model is read and measured.
  std::filesystem::path file;
  if (!a.checkpoint.empty() && (!ranks || ranks->is_first())) {
    make_folder(a.checkpoint);
    file = std::filesystem::path(a.checkpoint) / "finetune.safetensors";
    models::check_apart(
        file,
        {{"MODEL", a.model}, {"--text", a.data.text}, {"--table", a.data.table}, {"--validate", a.data.validate}});
    check_file(file);
  }
  const std::unique_ptr<models::Transformer> model = loaded(a, job);
  tasks::TrainerConfig config = trainer_config(a, job.steps);
  config.ranks = ranks;
  tasks::Trainer trainer(*model, data.objective(), config, job.rng);
  const tasks::FinetuneSettings settings = settings_of(a, data, job.steps);
  std::optional<tasks::FileOfFirst> common;
  if (ranks) file = begun_together(*ranks, config.device, settings, file, common);
  tasks::Finetuning training(trainer, file, settings);
  result.parameters = model->parameter_count();
  for (const autograd::Parameter& parameter : model->parameters()) result.trained += parameter.var.value().numel();
  const bool has_resumed = training.resume();
  // Without a checkpoint there is nothing to save, so signals keep their usual effect.
  const std::atomic<bool>* const stop = a.checkpoint.empty() ? nullptr : &stop_on_signals();
  const auto goes_on = [&] {
    const bool is_wanted = !stop || !*stop;
    return ranks ? tasks::decided_by_first(*ranks, is_wanted, tasks::patience_of_a_step) : is_wanted;
  };
  const auto measure = [&](const char* when) {
    ProgressLine line;
    return data.measure(*model, [&](double share) {
      if (stop && *stop) throw Exit{interrupted};
      line.show(fmt::format("measuring {} the training  {:.0f} %", when, 100 * share), share);
    });
  };
  // Only the first of several ranks measures, writes and shows; the others train.
  if (ranks && !ranks->is_first()) {
    tasks::told_by_first(*ranks, "", tasks::endless_patience);
    training.run(
        job.steps, 0, [](int64_t) { return 0; }, [](const tasks::FinetuneStep&) {}, goes_on);
    return result;
  }
  if (!has_resumed) training.before = measure("before");
  if (ranks) tasks::told_by_first(*ranks, "measured", tasks::endless_patience);
  result.resumed_at = trainer.steps_done();
  result.before = training.before;
  print_start(a, job, result);
  for (const tasks::FinetuneStep& step : training.log()) add_step(log, a, data, step);
  bool has_ended = false;
  {
    ProgressLine line;
    has_ended = training.run(
        job.steps, a.save_every, [&](int64_t step) { return data.tokens(step, a.batch, seed); },
        [&](const tasks::FinetuneStep& s) {
          add_step(log, a, data, s);
          line.show(fmt::format("step {}/{}  loss {:.4f}  {:.0f} tokens/s", s.step, job.steps, s.loss,
                                static_cast<double>(s.tokens) / s.seconds),
                    static_cast<double>(s.step) / static_cast<double>(job.steps));
        },
        goes_on);
  }
  if (!has_ended) {
    write_note(fmt::format("headroom: stopped after step {} of {}; the same command goes on from here",
                           trainer.steps_done(), job.steps));
    throw Exit{interrupted};
  }
  result.after = measure("after");
  result.steps = training.log();
  job.edit.config.checkpoint_blocks = false;
  if (job.adapter) {
    job.adapter = trained_adapter(std::move(*job.adapter), *model);
    return result;
  }
  for (const autograd::Parameter& parameter : model->parameters()) {
    std::erase_if(job.edit.weights, [&](const auto& weight) { return weight.first == parameter.name; });
    job.edit.weights.emplace_back(parameter.name, parameter.var.value().to(engine::cpu));
  }
  return result;
}

models::Conversion write_out(const FinetuneArguments& a, const FinetuneJob& job, const FinetuneResult& result) {
  if (job.adapter) {
    models::Conversion made;
    made.written =
        fmt::format("an adapter of {} matrices, rank {}, in F32", job.adapter->factors.size(), job.adapter->rank);
    made.bytes = write_adapter(a.out, *job.adapter, *job.base, a.force);
    return made;
  }
  models::ModelCard card;
  card.change = "fine-tuned";
  card.base = job.base->path().filename().string();
  card.base_sha256 = tasks::sha256_of_model(job.base->path());
  card.program = fmt::format("headroom {}", version());
  card.made_by = command_as_given();
  card.refinement = fmt::format("{} steps of {} sequences, AdamW, learning rate {}, seed {}", result.steps.size(),
                                a.batch, a.lr, a.seed);
  for (const auto& [name, after] : result.after)
    if (name != "stderr" && result.before.contains(name))
      card.measures.push_back({name, result.before.at(name), after});
  const std::string& file = a.data.text.empty() ? a.data.table : a.data.text;
  card.notes.push_back(fmt::format("trained on {}, SHA-256 {}", std::filesystem::path(file).filename().string(),
                                   job.data->settings().front().second));
  models::Conversion made =
      export_model(*job.base, job.edit, job.format, a.out, {.type = job.type, .force = a.force, .card = card});
  const auto bytes_in = [&](std::optional<models::WeightType> type) {
    return export_bytes(*job.base, job.edit, job.format, a.out, type);
  };
  const uint64_t before = models::model_bytes(job.base->path());
  const std::string growth = growth_note(before, made.bytes, job.type, holds_blocks(job.format, a.out), bytes_in);
  if (!growth.empty()) made.notes.push_back(growth);
  return made;
}

void finetune(FinetuneArguments& a) {
  if (a.lora_rank && a.lora_alpha == 0) a.lora_alpha = 2 * static_cast<double>(*a.lora_rank);
  std::unique_ptr<tasks::Ranks> ranks = started_ranks(a.device);
  const ModelScope scope(a.threads, a.device, engine::Activations::exact);
  const bool is_first = !ranks || ranks->is_first();
  if (ranks) tasks::check_shares(a.shares, ranks->size());
  FinetuneJob job = finetune_job(a);
  std::string way;
  if (ranks) ranks = ranks_on(engine::device_of(a.device), std::move(ranks), way);
  if (!way.empty() && is_first && !a.json) print_text("ranks    {}, {}\n", ranks->size(), way);
  StepLog log;
  if (!a.log.empty() && is_first) log.emplace(a.log);
  FinetuneResult result = train(a, job, log, ranks.get());
  ranks.reset();
  if (!is_first) return;
  engine::empty_cache(engine::device_of(a.device));  // frees moments and activations before the new model is read back
  if (!a.json) {
    print_text("after    {}\n", job.data->words(result.after));
    print_text("loss     {:.4f} to {:.4f} in {} steps, {:.0f} tokens/s\n", result.steps.front().loss,
               result.steps.back().loss, job.steps, tokens_per_second(result.steps));
    std::fflush(stdout);
  }
  result.written = write_out(a, job, result);
  if (log) log->commit();
  if (a.json) return print_as_json(a, job.cut, result);
  for (const std::string& note : result.written.notes) print_text("note     {}\n", note);
  print_text("written  {}: {}, {}\n", a.out, result.written.written, models::size_text(result.written.bytes));
}

}  // namespace

void add_finetune_command(Command app) {
  const Command command = app.command("finetune", "train a trained model further, on a text or labelled sentences");
  const auto a = std::make_shared<FinetuneArguments>();
  const Option lr = add_finetune_options(command, *a);
  command.action([a, lr] {
    if (a->lora_rank && !lr.is_given()) a->lr = 2e-4;
    finetune(*a);
  });
}

}  // namespace headroom::experiments
