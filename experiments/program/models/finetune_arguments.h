#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "experiments/program/command_line/arguments.h"
#include "experiments/program/models/finetune_data.h"
#include "tasks/finetune/trained_part.h"

namespace headroom::experiments {

/// What the user asks of `finetune`.
struct FinetuneArguments {
  std::string model, out, part = "all", schedule = "cosine", checkpoint, log, format, device = "cpu";
  FinetuneDataArguments data;
  std::optional<int64_t> steps;
  double epochs = 1, lr = 2e-5, weight_decay = 0, clip = 1;
  int64_t batch = 4, parts = 1, warmup = 0, seed = 0, save_every = 100;
  bool recompute = false, force = false, json = false;
  int threads = 0;
};

/// Throws Error naming the option whose number is out of range.
void check_numbers(const FinetuneArguments& arguments);
/// Steps of the training. Throws Error as check_numbers().
int64_t steps_of(const FinetuneArguments& arguments, const FinetuneData& data);
tasks::TrainerConfig trainer_config(const FinetuneArguments& arguments, int64_t steps);
/// Throws Error, with what would fit, where the memory cannot hold the training of sequences of `length` tokens.
void check_memory(const FinetuneArguments& arguments, const models::TransformerConfig& config, int64_t length);
/// All that decides the bits of the result; how often it is saved, and what is computed again, is left out.
tasks::FinetuneSettings settings_of(const FinetuneArguments& arguments, const FinetuneData& data, int64_t steps);

/// Every option of `finetune`.
void add_finetune_options(Command command, FinetuneArguments& arguments);

}  // namespace headroom::experiments
