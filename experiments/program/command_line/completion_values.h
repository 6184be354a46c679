#pragma once
#include <string>
#include <vector>

#include "experiments/program/command_line/completion_words.h"

namespace headroom::experiments {

/// The command line as far as it is known when one of its values is completed.
struct CompletionContext {
  std::string command;               ///< "run", "export csv"
  std::vector<std::string> studies;  ///< study files, ids and runs among its positional arguments
  std::string profile;               ///< of --profile, where it is given
};

/// The values that `argument` may take, of which `begun` is already there.
Candidates values_of(const ArgumentDescription& argument, const CompletionContext& context, const std::string& begun);

}  // namespace headroom::experiments
