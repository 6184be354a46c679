#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/completion_scripts.h"
#include "experiments/program/command_line/completion_words.h"

namespace headroom::experiments {
namespace {

/// One line "WORD<tab>HELP" each, and last what files the shell is to list.
void print_candidates(const CommandDescription& program) {
  std::vector<std::string> words;
  for (std::string word; std::getline(std::cin, word);) words.push_back(word);
  const Candidates found = complete(program, words);
  for (const Candidate& candidate : found.words) {
    if (candidate.word.find_first_of("\t\n") != std::string::npos) continue;
    std::string help = candidate.help;
    std::replace_if(
        help.begin(), help.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    fmt::print("{}\t{}\n", candidate.word, help);
  }
  switch (found.files) {
    case Candidates::Files::none:
      break;
    case Candidates::Files::any:
      fmt::print(":files\n");
      break;
    case Candidates::Files::folders:
      fmt::print(":folders\n");
      break;
    case Candidates::Files::toml:
      fmt::print(":toml\n");
      break;
  }
}

}  // namespace

void add_completion_command(CommandLine& line) {
  const auto shell = std::make_shared<std::string>();
  const Command command = line.root().command("completion", "the script of a shell that completes arguments").hidden();
  command.option("SHELL", *shell, "bash, zsh or fish; words: what may follow the words on standard input")
      .required()
      .one_of({"bash", "zsh", "fish", "words"});
  command.action([&line, shell] {
    if (*shell == "words") print_candidates(line.description());
    else std::fputs(*shell == "bash" ? bash_completion : *shell == "zsh" ? zsh_completion : fish_completion, stdout);
  });
}

}  // namespace headroom::experiments
