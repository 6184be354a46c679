#include "experiments/program/command_line/completion_words.h"

#include <algorithm>
#include <utility>

#include "experiments/program/command_line/completion_values.h"

namespace headroom::experiments {
namespace {

const ArgumentDescription* option_named(const CommandDescription& command, const std::string& name) {
  for (const ArgumentDescription& argument : command.arguments)
    if (!argument.is_positional() &&
        std::find(argument.names.begin(), argument.names.end(), name) != argument.names.end())
      return &argument;
  return nullptr;
}

/// The positional argument that stands `place`-th; the last one again where it is a list.
const ArgumentDescription* positional_at(const CommandDescription& command, size_t place) {
  const ArgumentDescription* last = nullptr;
  for (const ArgumentDescription& argument : command.arguments) {
    if (!argument.is_positional()) continue;
    last = &argument;
    if (place-- == 0) return last;
  }
  return last != nullptr && last->is_list ? last : nullptr;
}

/// A command line, read up to its last word.
struct ReadLine {
  const CommandDescription* command;
  const ArgumentDescription* waiting = nullptr;  ///< the option whose value comes next
  size_t positionals = 0;
  bool only_positionals = false;  ///< behind "--"
  CompletionContext context;
};

void note_value(ReadLine& line, const ArgumentDescription& option, const std::string& value) {
  if (option.names.back() == "--profile") line.context.profile = value;
}

void read_word(ReadLine& line, const std::string& word) {
  if (line.waiting != nullptr) {
    note_value(line, *line.waiting, word);
    line.waiting = nullptr;
  } else if (word == "--") {
    line.only_positionals = true;
  } else if (!line.only_positionals && word.starts_with("-")) {
    const size_t equals = word.find('=');
    const ArgumentDescription* option = option_named(*line.command, word.substr(0, equals));
    if (option == nullptr || option->value.empty()) return;
    if (equals == std::string::npos) line.waiting = option;
    else note_value(line, *option, word.substr(equals + 1));
  } else {
    for (const CommandDescription& below : line.command->commands)
      if (below.name == word) {
        line.context.command += (line.context.command.empty() ? "" : " ") + word;
        line.command = &below;
        return;
      }
    ++line.positionals;
    line.context.studies.push_back(word);
  }
}

void keep_begun(Candidates& found, const std::string& begun) {
  std::erase_if(found.words, [&](const Candidate& candidate) { return !candidate.word.starts_with(begun); });
}

Candidates options_of(const CommandDescription& command) {
  Candidates found;
  for (const ArgumentDescription& argument : command.arguments)
    if (!argument.is_positional())
      for (const std::string& name : argument.names) found.words.push_back({name, argument.help});
  return found;
}

}  // namespace

Candidates complete(const CommandDescription& program, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  ReadLine line{&program, nullptr, 0, false, {}};
  for (size_t i = 0; i + 1 < words.size(); ++i) read_word(line, words[i]);
  const std::string& begun = words.back();
  Candidates found;
  if (line.waiting != nullptr) {
    found = values_of(*line.waiting, line.context, begun);
  } else if (!line.only_positionals && begun.starts_with("-")) {
    const size_t equals = begun.find('=');
    const ArgumentDescription* option =
        equals == std::string::npos ? nullptr : option_named(*line.command, begun.substr(0, equals));
    if (option == nullptr) {
      found = options_of(*line.command);
    } else if (!option->value.empty()) {
      found = values_of(*option, line.context, begun.substr(equals + 1));
      for (Candidate& candidate : found.words) candidate.word = begun.substr(0, equals + 1) + candidate.word;
      found.files = Candidates::Files::none;  // shells would take the option's name for a part of the file's
    }
  } else {
    for (const CommandDescription& below : line.command->commands) found.words.push_back({below.name, below.help});
    if (const ArgumentDescription* next = positional_at(*line.command, line.positionals)) {
      Candidates values = values_of(*next, line.context, begun);
      std::move(values.words.begin(), values.words.end(), std::back_inserter(found.words));
      found.files = values.files;
    }
  }
  keep_begun(found, begun);
  return found;
}

}  // namespace headroom::experiments
