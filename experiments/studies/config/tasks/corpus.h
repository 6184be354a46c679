#pragma once
#include <initializer_list>

#include "experiments/studies/config/tasks/words.h"
#include "experiments/studies/toml/reader.h"
#include "tasks/language/corpus.h"

namespace headroom::experiments {

/// The keys that every language task has for where its text comes from and how it is cut.
tasks::CorpusConfig bind_corpus(Reader& in);

/// Reports those of the keys that are given and "".
void refuse_empty(Reader& in, std::initializer_list<const char*> keys);

/// The value of a key that names a data set or a tokenizer by a word ("tinyshakespeare", "char"), or a file: one with a
/// dot or a slash is a path, from the study file's folder where there is such a file, else as it is.
std::string word_or_file(Reader& in, const char* key, const std::string& value);
/// [task.markov]; `fallback` holds the defaults.
tasks::MarkovConfig bind_markov(Reader& in, const tasks::MarkovConfig& fallback);

/// The text that a resolved [task] reads: "wikitext-2 (a token per character)".
std::string corpus_words(const TaskJson& task);

}  // namespace headroom::experiments
