#include "experiments/studies/config/tasks/corpus.h"

#include "engine/error.h"
#include "experiments/studies/config/tasks/pretrained.h"

namespace headroom::experiments {

void refuse_empty(Reader& in, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (in.has_empty_text(key)) in.complain(key, "is empty");
}

std::string word_or_file(Reader& in, const char* key, const std::string& value) {
  const bool is_path = value.find_first_of("/.") != std::string::npos;
  return is_path ? beside_study(in, key, value) : value;
}

tasks::MarkovConfig bind_markov(Reader& in, const tasks::MarkovConfig& fallback) {
  tasks::MarkovConfig markov = fallback;
  in.table("markov", "the built-in language: what source = \"markov\" is", [&](Reader& table) {
    markov.symbols = table.integer("symbols", markov.symbols, {.low = 2, .high = 1 << 16}, "size of the alphabet, V");
    markov.order = table.integer("order", markov.order, {.low = 1, .high = 16}, "symbols that decide the next, k");
    markov.seed = table.integer("seed", markov.seed, {.low = 0, .high = most}, "which language; not the trial's seed");
    markov.sharpness = table.real("sharpness", markov.sharpness, {.low = 0, .high = 20},
                                  "standard deviation of the table's logits; 0: every symbol is equally likely");
    markov.tokens = table.integer("tokens", markov.tokens, {.low = 1, .high = 1e9}, "length of the text, all splits");
  });
  return markov;
}

tasks::CorpusConfig bind_corpus(Reader& in) {
  tasks::CorpusConfig corpus;
  corpus.source =
      word_or_file(in, "source",
                   in.text("source", corpus.source,
                           "\"markov\", a data set (\"tinyshakespeare\", \"wikitext-2\"), or a text file of your own"));
  corpus.markov = bind_markov(in, corpus.markov);
  corpus.tokenizer =
      word_or_file(in, "tokenizer",
                   in.text("tokenizer", corpus.tokenizer,
                           "\"char\", \"byte\", or the path of a tokenizer; a Markov source needs none"));
  corpus.validation_file =
      word_or_file(in, "validation_file", in.text("validation_file", "", "a text of its own for validation"));
  corpus.test_file = word_or_file(in, "test_file", in.text("test_file", "", "a text of its own for testing"));
  corpus.validation = in.real("validation", corpus.validation, fraction, "share of the text, where it has no file");
  corpus.test = in.real("test", corpus.test, fraction, "share of the text; 0: tested on validation");
  corpus.tokens = in.integer("tokens", corpus.tokens, {.low = 0, .high = 1e12},
                             "training uses the first so many of the text's tokens; 0: all");
  refuse_empty(in, {"source", "tokenizer"});
  if (!corpus.source.empty()) in.attempt("source", [&] { validate(corpus); });
  return corpus;
}

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

}  // namespace headroom::experiments
