#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::tasks {

/// A text and its possible continuations.
struct ChoiceItem {
  std::string prompt;
  std::vector<std::string> choices;  ///< two or more
  int64_t answer = 0;                ///< index of the right one
  std::string place;                 ///< "dev.tsv, line 3", for messages
};

/// Reads one object per line: {"prompt": "…", "choices": ["…", "…"], "answer": 0}; skips empty lines. Throws Error
/// naming file and line.
std::vector<ChoiceItem> read_choice_lines(const std::filesystem::path& path);

struct ChoiceFile {
  std::vector<ChoiceItem> items;
  int64_t left_out = 0;  ///< items without one best choice, or there twice
};

/// The multiple-choice examples of a BIG-bench task (its `task.json`; Srivastava et al., 2022, arXiv 2206.04615), with
/// no example shown before them: prompts letter for letter those of BIG-bench's own code (version 1.0.0), choices in
/// the order of their bytes, the right one that with the best score. Left out are examples with several best choices,
/// and ones that are there twice. Throws Error naming file and example for a task of another kind.
ChoiceFile read_big_bench(const std::filesystem::path& path);

/// A BIG-bench task where the file's name ends in task.json, otherwise lines of items.
ChoiceFile read_choices(const std::filesystem::path& path);

/// A tab-separated labelled table whose first line names the columns. Each row's prompt is `form` with every {column}
/// filled in, its choices are the answers, and its label is the right answer's index, from 0. Throws Error naming file
/// and line, a missing column, and a label that is not one of the answers.
struct ChoiceTable {
  std::string form;                  ///< "Review: {content}\nSentiment:"
  std::vector<std::string> answers;  ///< " negative", " positive"
  std::string label = "label";       ///< the column of the labels
};
std::vector<ChoiceItem> read_choice_table(const std::filesystem::path& path, const ChoiceTable& table);

}  // namespace headroom::tasks
