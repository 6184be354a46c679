#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/program/command_line/arguments.h"
#include "models/checkpoints/model_files.h"
#include "tasks/finetune/finetune.h"
#include "tasks/finetune/trained_part.h"

namespace headroom::experiments {

/// The data to fine-tune on, as the user names it.
struct FinetuneDataArguments {
  std::string text, table, validate;
  std::string text_column, label_column = "label", validate_column;
  std::optional<int64_t> context;  ///< none: 256, or the model's where that is shorter
  int64_t max_examples = 0, validate_tokens = 32768;
};

/// The examples to train on, and how a model is judged before and after.
class FinetuneData {
 public:
  virtual ~FinetuneData() = default;
  virtual const tasks::Objective& objective() const = 0;
  /// Number of classes of a labelled table; none for a text.
  virtual std::optional<int64_t> classes() const { return std::nullopt; }
  /// Length of the longest sequence, in tokens.
  virtual int64_t longest() const = 0;
  virtual int64_t steps_per_epoch(int64_t batch) const = 0;
  /// The sentences of a step, or where in the text each of its windows begins.
  virtual std::vector<int64_t> examples(int64_t step, int64_t batch, uint64_t seed) const = 0;
  /// Number of tokens that a step trains on, without padding.
  virtual int64_t tokens(int64_t step, int64_t batch, uint64_t seed) const = 0;
  virtual tasks::Metrics measure(const models::Transformer& model,
                                 const std::function<void(double share)>& progress) const = 0;
  /// The first metric of measure() in words: "perplexity 29.45 (32704 tokens)".
  virtual std::string words(const tasks::Metrics& metrics) const = 0;
  /// Settings of the data that the training's result depends on.
  virtual tasks::FinetuneSettings settings() const = 0;
};

/// Reads and tokenises the named data. Throws Error naming the file, and UsageError if the arguments name no data or
/// two sets.
std::unique_ptr<FinetuneData> read_finetune_data(const FinetuneDataArguments& arguments,
                                                 const models::ModelFiles& files,
                                                 std::shared_ptr<const models::Tokenizer> tokenizer);

/// The arguments of `finetune`.
struct FinetuneArguments {
  std::string model, out, part = "all", schedule = "cosine", checkpoint, log, format, dtype, device = "cpu";
  FinetuneDataArguments data;
  std::optional<int64_t> lora_rank;  ///< trains an adapter of this rank in place of `part`
  double lora_alpha = 0;             ///< 0: twice the rank
  std::string lora_on = "q,k,v,o,gate,up,down";
  std::optional<int64_t> steps;
  double epochs = 1, lr = 2e-5, weight_decay = 0, clip = 1;
  int64_t batch = 4;
  int64_t parts = 1;   ///< --accumulate
  int64_t shares = 1;  ///< --parts: of ranks
  int64_t warmup = 0, seed = 0, save_every = 100;
  bool recompute = false, force = false, json = false;
  int threads = 0;
};

/// Throws Error naming the option if a number is out of range.
void check_numbers(const FinetuneArguments& arguments);
/// Number of training steps. Throws Error as check_numbers().
int64_t steps_of(const FinetuneArguments& arguments, const FinetuneData& data);
tasks::TrainerConfig trainer_config(const FinetuneArguments& arguments, int64_t steps);
/// What is trained, as the user named it: "all", or "q,k,v, rank 8, alpha 16".
std::string trained_words(const FinetuneArguments& arguments);
/// Throws Error, with what would fit, if memory cannot hold training on sequences of `length` tokens. `adapter`: the
/// number of its parameters; 0 = none.
void check_memory(const FinetuneArguments& arguments, const models::TransformerConfig& config, int64_t length,
                  int64_t adapter);
/// All settings that decide the result's bits: not how often it is saved, nor what is recomputed.
tasks::FinetuneSettings settings_of(const FinetuneArguments& arguments, const FinetuneData& data, int64_t steps);

/// Adds every option of `finetune`; returns --lr's.
Option add_finetune_options(Command command, FinetuneArguments& arguments);

}  // namespace headroom::experiments
