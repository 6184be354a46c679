#include <fmt/core.h>

#include <cmath>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

/// Reports those of the keys that are given and "".
void refuse_empty(Reader& in, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (in.has_empty_text(key)) in.complain(key, "is empty");
}

/// A key that names a data set or a tokenizer by a word ("tinyshakespeare", "char"), or a file: what has a dot or a
/// slash is a path, from the study file's folder where there is such a file, else as it is.
void set_word_or_file(Reader& in, const char* key, std::string& value, const char* doc) {
  in.set(key, value, doc);
  if (value.find_first_of("/.") != std::string::npos) value = beside_study(in, key, value);
}

/// [task.markov]
void bind_markov(Reader& in, tasks::MarkovConfig& markov) {
  in.table("markov", "the built-in language: what source = \"markov\" is", [&](Reader& table) {
    table.set("symbols", markov.symbols, {.low = 2, .high = 1 << 16}, "size of the alphabet, V");
    table.set("order", markov.order, {.low = 1, .high = 16}, "symbols that decide the next, k");
    table.set("seed", markov.seed, {.low = 0, .high = most}, "which language; not the trial's seed");
    table.set("sharpness", markov.sharpness, {.low = 0, .high = 20},
              "standard deviation of the table's logits; 0: every symbol is equally likely");
    table.set("tokens", markov.tokens, {.low = 1, .high = 1e9}, "length of the text, all splits");
  });
}

/// Where the text comes from, and how it is cut.
void bind_corpus(Reader& in, tasks::CorpusConfig& corpus) {
  set_word_or_file(in, "source", corpus.source,
                   "\"markov\", a data set (\"tinyshakespeare\", \"wikitext-2\"), or a text file of your own");
  bind_markov(in, corpus.markov);
  set_word_or_file(in, "tokenizer", corpus.tokenizer,
                   "\"char\", \"byte\", or the path of a tokenizer; a Markov source needs none");
  set_word_or_file(in, "validation_file", corpus.validation_file, "a text of its own for validation");
  set_word_or_file(in, "test_file", corpus.test_file, "a text of its own for testing");
  in.set("validation", corpus.validation, fraction, "share of the text, where it has no file");
  in.set("test", corpus.test, fraction, "share of the text; 0: tested on validation");
  in.set("tokens", corpus.tokens, {.low = 0, .high = 1e12},
         "training uses only this many first tokens of the text; 0: all");
  refuse_empty(in, {"source", "tokenizer"});
  if (!corpus.source.empty()) in.attempt("source", [&] { validate(corpus); });
}

/// The text that a resolved [task] reads: "wikitext-2 (a token per character)".
std::string corpus_words(const TaskJson& task) {
  const std::string source = task_value(task, "source");
  if (source == "markov") {
    const TaskJson& markov = task_part(task, "markov");
    return fmt::format("text drawn from a random Markov source of order {} over {} symbols",
                       task_value(markov, "order"), task_value(markov, "symbols"));
  }
  const std::string tokenizer = task_value(task, "tokenizer");
  if (tokenizer == "char") return source + " (a token per character)";
  return fmt::format("{} (tokens of {})", source, tokenizer);
}

tasks::TaskConfig bind_next_token(Reader& in) {
  tasks::NextTokenConfig task;
  bind_corpus(in, task.corpus);
  in.set("length", task.length, count, "tokens of context, L");
  if (task.corpus.source == "markov" && task.corpus.markov.order > task.length)
    in.complain("length", fmt::format("{} is out of range: expected >= task.markov.order = {}", task.length,
                                      task.corpus.markov.order));
  return task;
}

TaskWords next_token_words(const TaskJson& task) {
  const bool chars = task_value(task, "tokenizer") == "char" && task_value(task, "source") != "markov";
  return {fmt::format("Given the text so far, the model has to predict the next token: {}, {} tokens of context.",
                      corpus_words(task), task_value(task, "length")),
          chars ? "“To be, or not to b” → “e”" : "a b a c a b a → c, by the odds of what follows"};
}

tasks::TaskConfig bind_masked(Reader& in) {
  tasks::MaskedConfig task;
  bind_corpus(in, task.corpus);
  in.set("length", task.length, count, "tokens per sequence, L");
  const Bounds share{.low = 0, .high = 1};
  in.set("masked", task.masked, {.low = 0, .high = 1, .low_open = true}, "share of tokens to predict");
  in.set("replaced_by_mask", task.replaced_by_mask, share, "of those, share hidden by [MASK]");
  in.set("replaced_by_any", task.replaced_by_any, share, "of those, share replaced by any token; the rest stay");
  if (task.replaced_by_mask + task.replaced_by_any > 1)
    in.complain("replaced_by_any", fmt::format("{} is out of range: expected <= 1 - task.replaced_by_mask = {}",
                                               task.replaced_by_any, 1 - task.replaced_by_mask));
  return task;
}

std::string percent(const TaskJson& table, const char* key) {
  return fmt::format("{} %", exact(std::round(1000 * task_number(table, key, 0)) / 10));
}

TaskWords masked_words(const TaskJson& task) {
  return {fmt::format("The model has to recover {} of the tokens ({} of those shown as [MASK]) from both sides: {}, {} "
                      "tokens of context.",
                      percent(task, "masked"), percent(task, "replaced_by_mask"), corpus_words(task),
                      task_value(task, "length")),
          task_value(task, "tokenizer") == "char" ? "“To b_, or n_t to be” → “e”, “o”" : "the _ sat on the mat → cat"};
}

tasks::TaskConfig bind_instructions(Reader& in) {
  using tasks::InstructionLoss, tasks::PromptTemplate;
  tasks::InstructionsConfig task;
  set_word_or_file(in, "source", task.source, "\"markov\", \"code-and-math\", or a JSON file in Alpaca's format");
  bind_markov(in, task.markov);
  set_word_or_file(in, "tokenizer", task.tokenizer, "\"char\", \"byte\", or the path of a tokenizer");
  in.set("prompt", task.prompt, {{"alpaca", PromptTemplate::alpaca}, {"brief", PromptTemplate::brief}},
         "Stanford Alpaca's text, or \"Q: ... A: \" for short contexts");
  in.set("loss", task.loss, {{"response", InstructionLoss::response}, {"all", InstructionLoss::all}},
         "the tokens that are trained on and judged by; both are measured");
  in.set("length", task.length, {.low = 2, .high = most}, "tokens of context, L");
  in.set("validation", task.validation, {.low = 0, .high = 1, .low_open = true, .high_open = true},
         "share of the items");
  in.set("test", task.test, fraction, "share of the items; 0: tested on validation");
  in.set("split_seed", task.split_seed, {.low = 0, .high = most}, "decides which items are where");
  refuse_empty(in, {"source", "tokenizer"});
  if (!task.source.empty()) in.attempt("source", [&] { validate(task); });
  return task;
}

TaskWords instructions_words(const TaskJson& task) {
  return {fmt::format("The model has to continue prompts with their answers, token by token: {}, {} tokens of context; "
                      "the loss is taken over {}.",
                      task_value(task, "source"), task_value(task, "length"),
                      task_value(task, "loss") == "all" ? "prompt and answer" : "the answer"),
          "“Instruction: add 2 and 3. Response:” → “5”"};
}

}  // namespace

const TaskKind next_token_task{"next-token", bind_next_token, next_token_words};
const TaskKind masked_task{"masked", bind_masked, masked_words};
const TaskKind instructions_task{"instructions", bind_instructions, instructions_words};

}  // namespace headroom::experiments
