#include "tasks/finetune/sentences.h"

#include <algorithm>

#include "engine/error.h"
#include "tasks/data/table.h"
#include "tasks/permutation.h"

namespace headroom::tasks {
namespace {

/// More than a table of sentences has: a label beyond it is something else than a class number.
constexpr int64_t most_classes = 1000;

/// The column of the sentences. Throws Error where none is named and it is not clear which.
size_t text_column(const std::vector<std::string>& names, const SentenceTable& table, size_t label) {
  if (!table.text.empty()) return column_named(names, table.text);
  require(names.size() == 2, "{} columns: name the one with the sentences", names.size());
  return 1 - label;
}

}  // namespace

LabelledSentences read_sentences(const std::filesystem::path& path, const SentenceTable& table,
                                 const models::Tokenizer& tokenizer) {
  LabelledSentences read;
  size_t text = 0, label = 0;
  for_each_row(
      path, "table of sentences",
      [&](const std::vector<std::string>& names) {
        label = column_named(names, table.label);
        text = text_column(names, table, label);
      },
      [&](int64_t, const std::vector<std::string_view>& cells) {
        LabelledSentence item;
        item.label = class_number(cells[label], table.classes > 0 ? table.classes : most_classes, "classes");
        item.tokens = tokenizer.encode(cells[text], models::Specials::plain);
        if (table.bos) item.tokens.insert(item.tokens.begin(), *table.bos);
        const auto length = static_cast<int64_t>(item.tokens.size());
        require(length > 0, "the sentence is empty");
        require(length <= table.longest, "the sentence has {} tokens; the model reads {}", length, table.longest);
        read.items.push_back(std::move(item));
      });
  for (const LabelledSentence& item : read.items) read.classes = std::max(read.classes, item.label + 1);
  if (table.classes > 0) read.classes = table.classes;
  return read;
}

std::vector<LabelledSentence> sample_sentences(const std::vector<LabelledSentence>& items, int64_t count,
                                               uint64_t seed) {
  const auto all = static_cast<int64_t>(items.size());
  if (count >= all) return items;
  std::vector<int64_t> drawn = permutation(all, {seed, "sample", 0});
  drawn.resize(static_cast<size_t>(std::max<int64_t>(count, 0)));
  std::sort(drawn.begin(), drawn.end());
  std::vector<LabelledSentence> sampled;
  for (const int64_t i : drawn) sampled.push_back(items[static_cast<size_t>(i)]);
  return sampled;
}

}  // namespace headroom::tasks
