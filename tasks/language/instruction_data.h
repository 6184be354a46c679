#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tasks/data/roots.h"
#include "tasks/language/markov.h"

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

}  // namespace headroom::tasks
