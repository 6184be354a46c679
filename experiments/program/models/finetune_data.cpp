#include "experiments/program/models/finetune.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "experiments/program/models/model_arguments.h"
#include "tasks/data/sha256.h"
#include "tasks/finetune/sentence_classification.h"
#include "tasks/finetune/text_windows.h"
#include "tasks/measure/language_model.h"
#include "tasks/measure/perplexity.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {
namespace {

using models::ModelFiles;
using tasks::Metrics;

/// Size of the validation part of a text or a table without --validate: its last tenth.
int64_t kept_back(int64_t count) { return (count + 9) / 10; }

std::optional<int32_t> bos_of(const ModelFiles& files) {
  const std::optional<int64_t> begin = files.description().text_begin();
  return begin ? std::optional(static_cast<int32_t>(*begin)) : std::nullopt;
}

class TextData final : public FinetuneData {
 public:
  TextData(const FinetuneDataArguments& arguments, const ModelFiles& files,
           std::shared_ptr<const models::Tokenizer> tokenizer)
      : arguments_(arguments), tokenizer_(std::move(tokenizer)), bos_(bos_of(files)) {
    tasks::require_language_model(files.description().config);
    const int64_t longest = files.description().context,
                  context = arguments.context.value_or(std::min<int64_t>(256, longest));
    context_ = context;
    require(context >= 1 && context <= longest, "--context {} is not between 1 and the model's, which is {}", context,
            longest);
    require(arguments.validate_tokens >= 2, "--validate-tokens: {} is below 2", arguments.validate_tokens);
    std::vector<int32_t> tokens = tasks::tokens_of_file(arguments.text, *tokenizer_);
    if (arguments.validate.empty()) {
      const auto count = static_cast<int64_t>(tokens.size());
      validation_.assign(tokens.end() - kept_back(count), tokens.end());
      tokens.resize(tokens.size() - validation_.size());
    } else {
      validation_ = tasks::tokens_of_file(arguments.validate, *tokenizer_);
    }
    validation_.resize(std::min(validation_.size(), static_cast<size_t>(arguments.validate_tokens)));
    const auto train = static_cast<int64_t>(tokens.size()), judged = static_cast<int64_t>(validation_.size());
    require(train > context, "{}: {} tokens to train on; expected a window of --context {} and the token after it",
            arguments.text, train, context);
    require(judged >= context, "{}: {} tokens to validate on; expected a window of --context {}",
            arguments.validate.empty() ? arguments.text : arguments.validate, judged, context);
    windows_ = std::make_unique<tasks::TextWindows>(std::move(tokens), context, bos_);
  }

  const tasks::Objective& objective() const override { return *windows_; }
  int64_t longest() const override { return context_; }
  int64_t steps_per_epoch(int64_t batch) const override {
    const int64_t step = batch * context_;
    return (static_cast<int64_t>(windows_->tokens().size()) + step - 1) / step;
  }
  std::vector<int64_t> examples(int64_t step, int64_t batch, uint64_t seed) const override {
    return windows_->starts(step, batch, seed);
  }
  int64_t tokens(int64_t, int64_t batch, uint64_t) const override { return batch * context_; }

  Metrics measure(const models::Transformer& model, const std::function<void(double)>& progress) const override {
    const tasks::PerplexityOptions options{.context = context_, .stride = context_, .bos = bos_};
    const tasks::Perplexity p = tasks::measure_perplexity(
        model, *tokenizer_, validation_, options, nullptr,
        [&](const auto& at) { progress(static_cast<double>(at.windows_done) / static_cast<double>(at.windows)); });
    return {{"perplexity", p.ppl},
            {"nll", p.nll},
            {"stderr", p.stderr_windows},
            {"tokens_scored", static_cast<double>(p.tokens_scored)}};
  }
  std::string words(const Metrics& m) const override {
    return fmt::format("perplexity {:.4f} ({:.0f} tokens)", m.at("perplexity"), m.at("tokens_scored"));
  }
  tasks::FinetuneSettings settings() const override {
    tasks::FinetuneSettings out{
        {"--text", tasks::sha256_of_file(arguments_.text)},
        {"--validate", arguments_.validate.empty() ? "" : tasks::sha256_of_file(arguments_.validate)},
        {"--validate-tokens", std::to_string(arguments_.validate_tokens)},
        {"--context", std::to_string(context_)}};
    if (bos_) out.emplace_back("the token that begins each window", std::to_string(*bos_));
    return out;
  }

 private:
  FinetuneDataArguments arguments_;
  std::shared_ptr<const models::Tokenizer> tokenizer_;
  std::optional<int32_t> bos_;
  int64_t context_ = 0;
  std::vector<int32_t> validation_;
  std::unique_ptr<tasks::TextWindows> windows_;
};

class TableData final : public FinetuneData {
 public:
  TableData(const FinetuneDataArguments& arguments, const ModelFiles& files, const models::Tokenizer& tokenizer)
      : arguments_(arguments) {
    require(arguments.max_examples >= 0, "--max-examples: {} is below 0", arguments.max_examples);
    tasks::SentenceTable table{.text = arguments.text_column,
                               .label = arguments.label_column,
                               .bos = bos_of(files),
                               .longest = files.description().context};
    tasks::LabelledSentences read = tasks::read_sentences(arguments.table, table, tokenizer);
    table.classes = classes_ = read.classes;
    if (arguments.validate.empty()) {
      const auto last = read.items.end() - kept_back(static_cast<int64_t>(read.items.size()));
      validation_.assign(last, read.items.end());
      read.items.erase(last, read.items.end());
      require(!read.items.empty(), "{}: one row; expected one to train on and one to validate on", arguments.table);
    } else {
      table.text = arguments.validate_column;
      validation_ = tasks::read_sentences(arguments.validate, table, tokenizer).items;
    }
    if (arguments.max_examples > 0 && arguments.max_examples < static_cast<int64_t>(read.items.size()))
      read.items.resize(static_cast<size_t>(arguments.max_examples));
    task_ = std::make_unique<tasks::SentenceClassification>(std::move(read.items));
  }

  const tasks::Objective& objective() const override { return *task_; }
  std::optional<int64_t> classes() const override { return classes_; }
  int64_t longest() const override {
    size_t most = 0;
    for (const tasks::LabelledSentence& each : task_->sentences()) most = std::max(most, each.tokens.size());
    return static_cast<int64_t>(most);
  }
  int64_t steps_per_epoch(int64_t batch) const override { return task_->steps_per_epoch(batch); }
  std::vector<int64_t> examples(int64_t step, int64_t batch, uint64_t seed) const override {
    return task_->examples(step, batch, seed);
  }
  int64_t tokens(int64_t step, int64_t batch, uint64_t seed) const override {
    size_t count = 0;
    for (const int64_t i : examples(step, batch, seed))
      count += task_->sentences()[static_cast<size_t>(i)].tokens.size();
    return static_cast<int64_t>(count);
  }

  Metrics measure(const models::Transformer& model, const std::function<void(double)>& progress) const override {
    const auto all = static_cast<double>(validation_.size());
    const tasks::ClassPredictions p = tasks::predict_classes(
        model, validation_, 16, [&](int64_t done) { progress(static_cast<double>(done) / all); });
    return {{"accuracy", p.accuracy}, {"cross_entropy", p.cross_entropy}, {"items", all}};
  }
  std::string words(const Metrics& m) const override {
    return fmt::format("accuracy {:.4f}, cross-entropy {:.4f} ({:.0f} sentences)", m.at("accuracy"),
                       m.at("cross_entropy"), m.at("items"));
  }
  tasks::FinetuneSettings settings() const override {
    return {{"--table", tasks::sha256_of_file(arguments_.table)},
            {"--validate", arguments_.validate.empty() ? "" : tasks::sha256_of_file(arguments_.validate)},
            {"--text-column", arguments_.text_column},
            {"--label-column", arguments_.label_column},
            {"--max-examples", std::to_string(arguments_.max_examples)}};
  }

 private:
  FinetuneDataArguments arguments_;
  int64_t classes_ = 2;
  std::vector<tasks::LabelledSentence> validation_;
  std::unique_ptr<tasks::SentenceClassification> task_;
};

}  // namespace

std::unique_ptr<FinetuneData> read_finetune_data(const FinetuneDataArguments& arguments, const ModelFiles& files,
                                                 std::shared_ptr<const models::Tokenizer> tokenizer) {
  if (arguments.text.empty() == arguments.table.empty())
    throw UsageError("finetune needs --text or --table, one of them");
  if (arguments.table.empty()) return std::make_unique<TextData>(arguments, files, std::move(tokenizer));
  return std::make_unique<TableData>(arguments, files, *tokenizer);
}

}  // namespace headroom::experiments
