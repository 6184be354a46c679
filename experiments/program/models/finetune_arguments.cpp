#include "experiments/program/models/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/error.h"
#include "engine/transfer.h"
#include "experiments/output/units.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/studies/run/memory_limit.h"
#include "tasks/data/locate.h"
#include "tasks/data/sha256.h"

namespace headroom::experiments {
namespace {

/// The text of --parts: without any, the same as in files written before the option existed.
std::string parts_text(const FinetuneArguments& a) {
  return a.shares == 1 ? std::to_string(a.parts) : fmt::format("{} --parts {}", a.parts, a.shares);
}

void add_data_options(Command command, FinetuneDataArguments& data) {
  command.option("--text FILE", data.text, "a text file to train on: the next token, in windows of --context tokens")
      .path_by(tasks::named_text);
  command
      .option("--table FILE", data.table,
              "labelled sentences to train a classifier on: a table with tabs, its columns named in the first line")
      .path_by(tasks::named_text);
  command.option("--text-column COLUMN", data.text_column,
                 "of the sentences (default: the only one besides the label's)");
  command.option("--label-column COLUMN", data.label_column, "of the class numbers, from 0");
  command.option("--max-examples N", data.max_examples, "train on the first N sentences only");
  command
      .option("--validate FILE", data.validate,
              "a text or table to measure on before and after (default: the last tenth of the training file, which is "
              "not trained on)")
      .path_by(tasks::named_text);
  command.option("--validate-column COLUMN", data.validate_column,
                 "of the sentences there (default: the only one besides the label's)");
  command.option("--validate-tokens N", data.validate_tokens, "of a text, measure on the first N tokens");
  command.option("--context T", data.context,
                 "tokens of a window of the text (default: 256, or the model's where that is shorter)");
}

}  // namespace

void check_numbers(const FinetuneArguments& a) {
  require(a.batch >= 1, "--batch: {} is below 1", a.batch);
  require(a.parts >= 1 && a.parts <= a.batch, "--accumulate: {} is not between 1 and --batch, which is {}", a.parts,
          a.batch);
  require(a.shares >= 1 && std::has_single_bit(static_cast<uint64_t>(a.shares)) && a.batch % a.shares == 0,
          "--parts: {} is not a power of two that divides --batch, which is {}", a.shares, a.batch);
  require(a.shares == 1 || a.parts == 1, "--parts: expected 1 with --accumulate");
  require(!a.steps || *a.steps >= 1, "--steps: {} is below 1", a.steps.value_or(0));
  require(std::isfinite(a.epochs) && a.epochs > 0, "--epochs: {} is not above 0", a.epochs);
  require(std::isfinite(a.lr) && a.lr > 0, "--lr: {} is not above 0", a.lr);
  require(std::isfinite(a.weight_decay) && a.weight_decay >= 0, "--weight-decay: {} is below 0", a.weight_decay);
  require(std::isfinite(a.clip) && a.clip >= 0, "--clip: {} is below 0", a.clip);
  require(a.seed >= 0, "--seed: {} is below 0", a.seed);
  require(a.lora_rank.value_or(1) >= 1, "--lora-rank: {} is below 1", a.lora_rank.value_or(1));
  require(std::isfinite(a.lora_alpha) && a.lora_alpha >= 0, "--lora-alpha: {} is not above 0", a.lora_alpha);
  require(a.lora_rank || (a.lora_alpha == 0 && a.lora_on == FinetuneArguments().lora_on),
          "--lora-alpha and --lora-on need --lora-rank");
  require(!a.lora_rank || a.part == "all", "--lora-rank: trains an adapter alone, not --train {}", a.part);
  require(!a.lora_rank || (a.format.empty() && a.dtype.empty()),
          "--lora-rank: writes an adapter, which has no --format and --dtype: convert --adapter merges it");
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
  config.parts = a.shares;
  config.device = engine::device_of(a.device);
  config.note = [](const std::string& line) { write_note("headroom: " + line); };
  return config;
}

std::string trained_words(const FinetuneArguments& a) {
  if (!a.lora_rank) return a.part;
  return fmt::format("{}, rank {}, alpha {}", a.lora_on, *a.lora_rank, a.lora_alpha);
}

void check_memory(const FinetuneArguments& a, const models::TransformerConfig& given, int64_t length, int64_t adapter) {
  models::TransformerConfig config = given;
  const tasks::TrainedPart part = tasks::trained_part_named(a.part);
  const int64_t parts = std::max(a.parts, a.shares), sequences = (a.batch + parts - 1) / parts;
  const tasks::FinetuneNeed need = finetune_need(part, config, sequences, length, adapter);
  const engine::Device device = engine::device_of(a.device);
  const MemoryLimit limit = device.is_cpu() ? memory_limit() : device_memory_limit(device);
  if (need.total() <= limit.bytes) return;
  const auto fits = [&](bool recompute, int64_t at_once) {
    config.checkpoint_blocks = recompute;
    return finetune_need(part, config, at_once, length, adapter).total() <= limit.bytes;
  };
  std::string advice = adapter > 0 ? "a smaller model would fit" : "a smaller model would fit, or --lora-rank 8";
  if (fits(true, sequences)) advice = "--recompute would fit";
  else if (a.shares > 1) advice = "a smaller --batch would fit";
  else if (fits(a.recompute, 1)) advice = fmt::format("--accumulate {} would fit", a.batch);
  else if (fits(true, 1)) advice = fmt::format("--recompute --accumulate {} would fit", a.batch);
  fail("the training needs at least {} of memory (weights, gradients and moments {}, activations {}), and {} is {}: {}",
       bytes_text(need.total()), bytes_text(need.state), bytes_text(need.activations), limit.source,
       bytes_text(limit.bytes), advice);
}

tasks::FinetuneSettings settings_of(const FinetuneArguments& a, const FinetuneData& data, int64_t steps) {
  tasks::FinetuneSettings settings{{"MODEL", tasks::sha256_of_model(a.model)},
                                   {"--train", trained_words(a)},
                                   {"--steps", std::to_string(steps)},
                                   {"--batch", std::to_string(a.batch)},
                                   {"--accumulate", parts_text(a)},
                                   {"--lr", fmt::format("{}", a.lr)},
                                   {"--schedule", a.schedule},
                                   {"--warmup", std::to_string(a.warmup)},
                                   {"--weight-decay", fmt::format("{}", a.weight_decay)},
                                   {"--clip", fmt::format("{}", a.clip)},
                                   {"--seed", std::to_string(a.seed)}};
  for (auto& setting : data.settings()) settings.push_back(std::move(setting));
  return settings;
}

Option add_finetune_options(Command command, FinetuneArguments& a) {
  add_model_argument(command, a.model);
  add_data_options(command.under("Data"), a.data);
  const Command training = command.under("Training"), kept = command.under("Checkpoints and log"),
                output = command.under("Output"), machine = command.under("Machine");
  training
      .option("--train", a.part,
              "all weights, the matrices (or factors) of queries and keys, or the readout; a classifier's readout is "
              "new, and always trained")
      .one_of({"all", "heads", "head"});
  training.option(
      "--lora-rank R", a.lora_rank,
      "train a LoRA adapter of this rank in place of the weights, which stay as stored; OUT is the adapter");
  training.option("--lora-alpha A", a.lora_alpha, "the adapter's term is scaled by A / R (default: 2 R)");
  training.option("--lora-on PARTS", a.lora_on, "matrices of each layer that it changes");
  const Option epochs = training.option("--epochs E", a.epochs, "times through the training file");
  training.option("--steps N", a.steps, "in place of --epochs").excludes(epochs);
  training.option("--batch B", a.batch, "sequences of a step");
  training.option("--accumulate N", a.parts, "parts of a batch, one after the other; their gradients add up");
  training.option(
      "--parts N", a.shares,
      "a power of two: parts of a batch that ranks can share (mpirun), their gradients added along one tree");
  const Option lr = training.option("--lr", a.lr, "AdamW's learning rate (default with --lora-rank: 2e-4)");
  training.option("--schedule", a.schedule, "of the learning rate: cosine falls to 0").one_of({"constant", "cosine"});
  training.option("--warmup N", a.warmup, "first steps, in which the learning rate rises");
  training.option("--weight-decay", a.weight_decay, "of matrices").show_default();
  training.option("--clip", a.clip, "largest norm of the gradient; 0: any");
  training.option("--seed", a.seed, "of the order of examples and of a new readout").show_default();
  training.flag("--recompute", a.recompute, "compute each layer again in the backward pass: less memory, more time");
  kept.option("--checkpoint DIR", a.checkpoint,
              "save the training here and resume from here: killed and run again, it ends in the same bits");
  kept.option("--save-every N", a.save_every, "steps between two saves");
  kept.option("--log FILE", a.log, "each step as a JSON object on a line, once OUT is there").output();
  add_written_model_option(output, a.out);
  output
      .option("--format", a.format,
              "compat loads in other software, compact here only (default: compact for a compact MODEL and a folder as "
              "OUT, else compat)")
      .one_of({"compat", "compact", "plain"});
  output.option("--dtype", a.dtype, "of the trained matrices as they are written (default: f32)")
      .one_of({"f32", "f16", "bf16", "q8_0"});
  output.flag("--force", a.force, "replace OUT and the file of --log if they exist");
  output.flag("--json", a.json, "the result as one JSON object");
  machine.option("--device", a.device, "cpu or cuda");
  add_threads_option(machine, a.threads);
  return lr;
}

}  // namespace headroom::experiments
