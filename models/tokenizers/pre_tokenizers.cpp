#include "models/tokenizers/pre_tokenizers.h"

#include <algorithm>

namespace headroom::models {
namespace {

/// Letters with at most a capital start, as llama.cpp tells capitals: A to Z alone.
const std::string other_case = R"([^\r\n\p{L}\p{N}]?[^\P{L}a-z]*[^\P{L}A-Z]+)",
                  capitals = R"([^\r\n\p{L}\p{N}]?[^\P{L}a-z]+[^\P{L}A-Z]*)";
const std::string contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)", line_ends = R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Llama 3's with other numbers.
std::string words_and(const char* numbers) {
  return contractions + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)" + numbers + R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)" + line_ends;
}
/// CJK, and what falls between: the ranges of DeepSeek's tokenizer.json.
const std::string ideographs = R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)",
                  kana = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
/// Letters with case, but Georgian's small ones, as DeepSeek's list has them.
const char* const cased_letters = R"(\s?(?:(?![\x{10d0}-\x{10ff}])\p{L&})+)";

const char* const sentence_parts = R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)";

/// Source: llama.cpp's llama-vocab.cpp, whose patterns of tekken and gpt-4o differ from those of the models' own
/// tokenizer.json in how they tell capitals.
std::vector<PreTokenizer> make_table() {
  const std::string gpt2 = gpt2_pattern, number = "\\p{N}";
  const std::string mixed_case = other_case + "|" + capitals, ends = R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)" + line_ends;
  return {
      {{"gpt-2", "phi-2", "gigachat", "mellum", "exaone4", "mpt", "olmo", "jais", "trillion", "a.x-4.0"}, {gpt2}},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}, {number, gpt2}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"},
       {llama3_pattern},
       true,
       true},
      {{"smaug-bpe", "dbrx", "chatglm-bpe"}, {llama3_pattern}},
      {{"qwen2", "deepseek-r1-qwen"}, {qwen2_pattern}, false, false, Normalization::nfc},
      {{"megrez", "stablelm2", "hunyuan", "kormo", "f2llmv2", "solar-open", "grok-2"}, {qwen2_pattern}},
      {{"tekken"}, {mixed_case + "|\\p{N}" + ends}, true, true},
      {{"gpt-4o", "llama4", "kanana2"},
       {other_case + contractions + "?|" + capitals + contractions + "?|\\p{N}{1,3}" + ends}},
      {{"deepseek-llm"},
       {"[\\r\\n]", cased_letters,
        R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)", "\\s+\\z", ideographs,
        "\\p{N}+"}},
      {{"deepseek-coder"}, {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", ideographs, number}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm"},
       {"\\p{N}{1,3}", kana,
        R"([!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)" + line_ends}},
      {{"falcon"}, {R"([\p{P}$+<=>^~|`]+)", gpt2, "[0-9][0-9][0-9]"}},
      {{"viking"}, {sentence_parts, number}},
      {{"poro-chat", "bloom", "gpt3-finnish"}, {sentence_parts}},
      {{"seed-coder"}, {contractions + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+)" + line_ends}},
      {{"minicpm5"}, {"\\p{N}{1,3}", words_and("\\p{N}+")}, true},
      {{default_pre_tokenizer}, {R"([\p{P}$+<=>^~|]+)", gpt2, "\\p{N}+", "[0-9][0-9][0-9]"}},
  };
}

const std::vector<PreTokenizer>& pre_tokenizer_table() {
  static const std::vector<PreTokenizer> known = make_table();
  return known;
}

}  // namespace

const PreTokenizer* pre_tokenizer_named(const std::string& name) {
  for (const PreTokenizer& known : pre_tokenizer_table())
    if (std::find(known.names.begin(), known.names.end(), name) != known.names.end()) return &known;
  return nullptr;
}

const PreTokenizer* pre_tokenizer_of(const std::vector<Splitter>& splitters, bool whole_words) {
  std::vector<std::string> patterns;
  for (const Splitter& splitter : splitters) patterns.push_back(splitter.pattern());
  const PreTokenizer* found = nullptr;
  for (const PreTokenizer& known : pre_tokenizer_table())
    if (known.patterns == patterns &&
        (found == nullptr || (found->whole_words != whole_words && known.whole_words == whole_words)))
      found = &known;
  return found;
}

}  // namespace headroom::models
