#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tasks/data/locate.h"
#include "tasks/language/markov.h"
#include "tasks/language/token_cache.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// One item in Alpaca's format (Taori et al., 2023).
struct Instruction {
  std::string instruction, input, output;
};

/// Reads a JSON list of {"instruction", "input", "output"} objects; "input" may be missing. Throws Error naming the
/// file, the item and the field that is not a text.
std::vector<Instruction> parse_instructions(const std::string& json, const std::string& name);

/// Makes items without a file: the instruction is a Markov text of 4 … 12 letters, which the output continues; `tokens`
/// letters in all. Throws Error for more than 26 symbols.
std::vector<Instruction> synthetic_instructions(const MarkovConfig& config);

/// The template that turns an item into a prompt.
enum class PromptTemplate {
  alpaca,  ///< the text of Stanford Alpaca, with or without an input
  brief,   ///< "Q: {instruction}\n{input}\nA: ", for short contexts
};

std::string prompt_of(const Instruction& item, PromptTemplate shape);

/// The targets that an instruction model is trained and selected on.
enum class InstructionLoss { response, all };

struct InstructionsConfig {
  using Made = class Instructions;
  /// "markov", "code-and-math", or a JSON file in Alpaca's format.
  std::string source = "markov";
  MarkovConfig markov{.symbols = 8, .order = 2, .seed = 1, .sharpness = 1.5, .tokens = 40'000};
  std::string tokenizer = "byte";  ///< "char", "byte" or a tokenizer's path
  PromptTemplate prompt = PromptTemplate::alpaca;
  InstructionLoss loss = InstructionLoss::response;
  int64_t length = 256;      ///< T, the context
  double validation = 0.05;  ///< shares of the items, drawn by split_seed
  double test = 0;           ///< 0: test metrics are those of validation
  int64_t split_seed = 0;
};

/// Throws Error naming the field and what is allowed.
void validate(const InstructionsConfig& config);

/// Instruction tuning. An item is its prompt, its response and an end-of-text symbol (the last id, one past the
/// tokenizer's own); the target of position t is token t + 1. An item longer than the context loses the start of its
/// prompt, up to half the context, then the end of its response. A shorter one is padded on the right with targets of
/// ignore_index (a causal model does not see the padding). Each epoch visits all items once, in an order determined by
/// (seed, epoch). Metrics: cross_entropy, perplexity, accuracy and bits_per_char over the targets named by `loss`, and
/// always cross_entropy_response and cross_entropy_all.
class Instructions : public Task {
 public:
  Instructions(const InstructionsConfig& config, const DataRoots& roots);

  ModelInterface model_interface() const override;
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  Batch evaluation(Split split, int64_t sequences) const override;
  /// Sets targets that do not count to ignore_index.
  Batch staged(const Batch& batch) const override;
  Var loss(const Var& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
  std::string criterion() const override { return "cross_entropy"; }
  std::map<std::string, std::string> data_hashes() const override { return hashes_; }
  std::string describe() const override;

  /// The indices of each split's items.
  const std::vector<int64_t>& train_items() const { return train_; }
  const std::vector<int64_t>& validation_items() const { return validation_; }
  const std::vector<int64_t>& test_items() const { return test_; }

 private:
  /// An item's place within all tokens.
  struct Item {
    int64_t begin = 0, prompt = 0, response = 0;  ///< first token, tokens of the prompt, of response and end
  };
  Batch batch(const std::vector<int64_t>& items) const;
  void cut(int64_t items);

  InstructionsConfig config_;
  std::string name_;
  std::map<std::string, std::string> hashes_;
  std::vector<int32_t> tokens_, characters_;
  std::vector<Item> items_;
  std::vector<int64_t> train_, validation_, test_;
  int64_t end_of_text_ = 0;
};

/// The metric names of a config.
std::set<std::string> metric_names_of(const InstructionsConfig& config);

}  // namespace headroom::tasks
