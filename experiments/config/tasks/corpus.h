#pragma once
#include "experiments/toml/reader.h"
#include "tasks/language/corpus.h"

namespace headroom::experiments {

/// The keys that every language task has for where its text comes from and how it is cut.
tasks::CorpusConfig bind_corpus(Reader& in);

/// [task.markov]; `fallback` holds the defaults.
tasks::MarkovConfig bind_markov(Reader& in, const tasks::MarkovConfig& fallback);

}  // namespace headroom::experiments
