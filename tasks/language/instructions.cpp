#include "tasks/language/instructions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/excerpt.h"
#include "tasks/data/sha256.h"
#include "tasks/language/encoding.h"
#include "tasks/language/text_files.h"
#include "tasks/language/token_meter.h"
#include "tasks/permutation.h"

namespace headroom::tasks {
namespace {

using nlohmann::json;

std::string text_of(const json& item, const char* field, bool is_needed, const std::string& name, size_t index) {
  const auto found = item.find(field);
  if (found == item.end() && !is_needed) return "";
  require(found != item.end() && found->is_string(), "{}: item {}: expected a text \"{}\"", name, index, field);
  return found->get<std::string>();
}

}  // namespace

std::vector<Instruction> parse_instructions(const std::string& text, const std::string& name) {
  json items;
  try {
    items = json::parse(text);
  } catch (const json::exception& error) {
    fail("{}: is no JSON: {}", name, plain_words(error.what()));
  }
  require(items.is_array(), "{}: expected a list of instructions", name);
  std::vector<Instruction> out;
  for (size_t i = 0; i < items.size(); ++i) {
    require(items[i].is_object(), "{}: item {}: expected an object with instruction, input and output", name, i);
    out.push_back({text_of(items[i], "instruction", true, name, i), text_of(items[i], "input", false, name, i),
                   text_of(items[i], "output", true, name, i)});
  }
  return out;
}

std::vector<Instruction> synthetic_instructions(const MarkovConfig& config) {
  require(config.symbols <= 26, "markov.symbols: instructions are made of letters: expected at most 26, got {}",
          config.symbols);
  constexpr size_t shortest = 4, longest = 12, output = 12;
  const std::vector<int32_t> symbols = MarkovSource(config).sample(config.tokens, "text");
  std::string letters;
  for (const int32_t symbol : symbols) letters += static_cast<char>('a' + symbol);
  std::vector<Instruction> items;
  size_t at = 0;
  for (size_t asked = shortest; at + asked + output <= letters.size(); asked = asked < longest ? asked + 1 : shortest) {
    items.push_back({letters.substr(at, asked), "", letters.substr(at + asked, output)});
    at += asked + output;
  }
  return items;
}

std::string prompt_of(const Instruction& item, PromptTemplate shape) {
  if (shape == PromptTemplate::brief)
    return "Q: " + item.instruction + "\n" + (item.input.empty() ? "" : item.input + "\n") + "A: ";
  const std::string context = item.input.empty() ? "" : ", paired with an input that provides further context";
  const std::string input = item.input.empty() ? "" : "\n\n### Input:\n" + item.input;
  return "Below is an instruction that describes a task" + context +
         ". Write a response that appropriately completes the request.\n\n### Instruction:\n" + item.instruction +
         input + "\n\n### Response:\n";
}

void validate(const InstructionsConfig& config) {
  require(!config.source.empty(), "source: expected \"markov\", a data set's name or a file");
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
  require(config.validation > 0 && config.test >= 0 && config.validation + config.test < 1,
          "validation, test: expected shares with 0 < validation, 0 <= test, together below 1, got {} and {}",
          config.validation, config.test);
  require(config.split_seed >= 0, "split_seed: expected >= 0, got {}", config.split_seed);
  if (config.source == "markov") validate(config.markov);
}

Instructions::Instructions(const InstructionsConfig& config, const DataRoots& roots)
    : config_(config), name_("Markov") {
  validate(config);
  std::vector<Instruction> items;
  if (config.source == "markov") {
    items = synthetic_instructions(config.markov);
  } else {
    const std::filesystem::path path = find_instructions(config.source, roots);
    const std::string json = read_text_file(path);
    name_ = path.string();
    hashes_[name_] = sha256(json);
    items = parse_instructions(json, name_);
  }
  std::vector<std::string> prompts;
  std::vector<NamedText> texts;
  for (const Instruction& item : items) prompts.push_back(prompt_of(item, config.prompt));
  for (size_t i = 0; i < items.size(); ++i) {
    texts.push_back({fmt::format("{}: prompt of item {}", name_, i), prompts[i]});
    texts.push_back({fmt::format("{}: output of item {}", name_, i), items[i].output});
  }
  const std::unique_ptr<Encoding> encoding = make_encoding(config.tokenizer, texts, roots);
  end_of_text_ = encoding->vocab();
  characters_ = encoding->characters();
  characters_.push_back(0);
  for (size_t i = 0; i < items.size(); ++i) {
    Item item{.begin = static_cast<int64_t>(tokens_.size())};
    for (int64_t* part : {&item.prompt, &item.response}) {
      const NamedText& text = texts[2 * i + (part == &item.prompt ? 0 : 1)];
      const std::vector<int32_t> ids = encoding->encode(text.text, text.name);
      *part = static_cast<int64_t>(ids.size());
      tokens_.insert(tokens_.end(), ids.begin(), ids.end());
    }
    tokens_.push_back(static_cast<int32_t>(end_of_text_));
    item.response += 1;
    items_.push_back(item);
  }
  cut(static_cast<int64_t>(items.size()));
}

void Instructions::cut(int64_t items) {
  const auto share = [&](double part) { return static_cast<int64_t>(std::llround(part * static_cast<double>(items))); };
  const int64_t tested = share(config_.test), validated = share(config_.validation);
  require(validated >= 1 && items - tested - validated >= 1, "{}: {} items are too few: {} to train on, {} to validate",
          name_, items, items - tested - validated, validated);
  const std::vector<int64_t> order = shuffled(items, {static_cast<uint64_t>(config_.split_seed), "split"});
  const auto train_end = order.end() - tested - validated;
  train_.assign(order.begin(), train_end);
  validation_.assign(train_end, train_end + validated);
  test_.assign(order.end() - tested, order.end());
  if (test_.empty()) test_ = validation_;
}

ModelInterface Instructions::model_interface() const {
  return {.length = config_.length, .vocab = end_of_text_ + 1, .output_dim = end_of_text_ + 1, .predicts = true};
}

Batch Instructions::batch(const std::vector<int64_t>& items) const {
  const int64_t length = config_.length, count = static_cast<int64_t>(items.size());
  Batch batch{Tensor::full({count, length}, static_cast<double>(end_of_text_), engine::DType::i64),   // (B, T)
              Tensor::full({count, length}, static_cast<double>(ignore_index), engine::DType::i64)};  // (B, T)
  batch.response = Tensor::zeros({count, length}, engine::DType::boolean);                            // (B, T)
  for (int64_t b = 0; b < count; ++b) {
    const Item& item = items_[static_cast<size_t>(items[static_cast<size_t>(b)])];
    // The window has room for length + 1 tokens: each input's target is the next one.
    const int64_t excess = std::max<int64_t>(0, item.prompt + item.response - (length + 1));
    const int64_t dropped = std::min(excess, std::max<int64_t>(0, item.prompt - (length + 1) / 2));
    const int64_t prompt = item.prompt - dropped, total = std::min(prompt + item.response, length + 1);
    const int32_t* from = tokens_.data() + item.begin + dropped;
    for (int64_t t = 0; t + 1 < total; ++t) {
      const int64_t at = b * length + t;
      const bool is_response = t + 1 >= prompt;
      batch.input.mutable_data<int64_t>()[at] = from[t];
      batch.target.mutable_data<int64_t>()[at] = from[t + 1];
      batch.response.mutable_data<bool>()[at] = is_response;
    }
  }
  return batch;
}

Batch Instructions::train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const {
  const auto count = static_cast<int64_t>(train_.size());
  std::vector<int64_t> items, order;
  int64_t epoch = -1;
  for (int64_t i = step * sequences; i < (step + 1) * sequences; ++i) {
    if (i / count != epoch) {
      epoch = i / count;
      order = shuffled(count, {rng.seed(), "epochs", epoch});
    }
    items.push_back(train_[static_cast<size_t>(order[static_cast<size_t>(i % count)])]);
  }
  return batch(items);
}

Batch Instructions::evaluation(Split split, int64_t sequences) const {
  const std::vector<int64_t>& items = split == Split::validation ? validation_ : test_;
  return batch({items.begin(), items.begin() + std::min(sequences, static_cast<int64_t>(items.size()))});
}

Batch Instructions::staged(const Batch& batch) const {
  if (config_.loss == InstructionLoss::all) return batch;
  Batch out = batch;
  out.target = batch.target.clone();  // (B, T)
  const std::vector<uint8_t> is_response = batch.response.to_vector<uint8_t>();
  for (size_t i = 0; i < is_response.size(); ++i)
    if (!is_response[i]) out.target.mutable_data<int64_t>()[i] = ignore_index;
  return out;
}

Var Instructions::loss(const Var& output, const Batch& batch) const {
  const Tensor target = batch.target.device().is_cpu() ? staged(batch).target : batch.target;  // (B, T)
  return autograd::cross_entropy(output, target, autograd::Reduction::mean, ignore_index);
}

std::unique_ptr<Meter> Instructions::meter() const {
  TokenMeterConfig meter;
  meter.characters = characters_;
  meter.by_response = true;
  meter.judges_response = config_.loss == InstructionLoss::response;
  return std::make_unique<TokenMeter>(std::move(meter));
}

std::string Instructions::describe() const {
  return fmt::format("instructions, context {}, loss on {}: {}; {} / {} / {} items train / validation / test{}",
                     config_.length, config_.loss == InstructionLoss::all ? "all tokens" : "responses", name_,
                     train_.size(), validation_.size(), config_.test > 0 ? test_.size() : 0,
                     config_.test > 0 ? "" : " (tested on validation)");
}

std::set<std::string> metric_names_of(const InstructionsConfig&) {
  std::set<std::string> names = token_metrics("accuracy", true);
  names.insert({"cross_entropy_all", "cross_entropy_response"});
  return names;
}

}  // namespace headroom::tasks
