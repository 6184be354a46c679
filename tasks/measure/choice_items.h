#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::tasks {

/// A text and the continuations to choose from.
struct ChoiceItem {
  std::string prompt;
  std::vector<std::string> choices;  ///< two or more
  int64_t answer = 0;                ///< the right one
  std::string place;                 ///< "dev.tsv, line 3", for messages
};

/// One object a line: {"prompt": "…", "choices": ["…", "…"], "answer": 0}; empty lines are passed over. Throws Error
/// naming file and line.
std::vector<ChoiceItem> read_choice_lines(const std::filesystem::path& path);

/// A labelled table with tabs between its columns and their names in the first line. Each row's prompt is
/// `form` with every {column} filled in, its choices are the answers, its label the number of the right one, from 0.
/// Throws Error naming file and line, a missing column, and a label that is not one of the answers.
struct ChoiceTable {
  std::string form;                  ///< "Review: {content}\nSentiment:"
  std::vector<std::string> answers;  ///< " negative", " positive"
  std::string label = "label";       ///< the column of the labels
};
std::vector<ChoiceItem> read_choice_table(const std::filesystem::path& path, const ChoiceTable& table);

}  // namespace headroom::tasks
