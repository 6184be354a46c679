#pragma once
#include <initializer_list>

#include "experiments/toml/reader.h"
#include "tasks/language/corpus.h"

namespace headroom::experiments {

/// The keys that every language task has for where its text comes from and how it is cut.
tasks::CorpusConfig bind_corpus(Reader& in);

/// Reports those of the keys that are given and "".
void refuse_empty(Reader& in, std::initializer_list<const char*> keys);

/// [task.markov]; `fallback` holds the defaults.
tasks::MarkovConfig bind_markov(Reader& in, const tasks::MarkovConfig& fallback);

}  // namespace headroom::experiments
