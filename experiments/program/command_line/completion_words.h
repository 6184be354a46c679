#pragma once
#include <string>
#include <vector>

#include "experiments/program/command_line/arguments.h"

namespace headroom::experiments {

/// A word that may stand at the end of a command line, and what the help says of it.
struct Candidate {
  std::string word, help;
};

/// What may stand there: words, and files that the shell itself lists.
struct Candidates {
  enum class Files { none, any, folders, toml };
  std::vector<Candidate> words;
  Files files = Files::none;
};

/// What may stand in place of the last of `words`, the command line behind the program's name: commands, options or
/// values that begin with it. Looks at stores and study files; never throws for what it finds there.
Candidates complete(const CommandDescription& program, const std::vector<std::string>& words);

}  // namespace headroom::experiments
