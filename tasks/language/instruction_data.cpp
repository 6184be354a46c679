#include "tasks/language/instruction_data.h"

#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/excerpt.h"

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

}  // namespace headroom::tasks
