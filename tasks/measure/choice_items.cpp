#include "tasks/measure/choice_items.h"

#include <fmt/format.h>

#include <string_view>

#include "engine/error.h"
#include "models/files/json.h"
#include "tasks/data/table.h"

namespace headroom::tasks {
namespace {

using nlohmann::json;

constexpr const char* choice_file = "file of choices";

std::string text_at(const json& item, const char* key) {
  const auto found = item.find(key);
  require(found != item.end() && found->is_string(), "expected a text \"{}\"", key);
  return found->get<std::string>();
}

ChoiceItem item_of(const json& line) {
  require(line.is_object(), "expected an object with prompt, choices and answer, got {}", models::shown(line));
  ChoiceItem item;
  item.prompt = text_at(line, "prompt");
  const auto choices = line.find("choices"), answer = line.find("answer");
  require(choices != line.end() && choices->is_array() && choices->size() >= 2,
          "expected a list \"choices\" of two or more");
  for (const json& choice : *choices) {
    require(choice.is_string() && !choice.get_ref<const std::string&>().empty(), "choices: {} is no text",
            models::shown(choice));
    item.choices.push_back(choice.get<std::string>());
  }
  require(answer != line.end() && answer->is_number_integer(), "expected a whole number \"answer\"");
  item.answer = answer->get<int64_t>();
  require(item.answer >= 0 && item.answer < static_cast<int64_t>(item.choices.size()),
          "answer: {} is none of {} choices, which are counted from 0", item.answer, item.choices.size());
  return item;
}

/// A form cut at its {column}s: a text before each, and one after the last.
struct FormParts {
  std::vector<std::string> texts;
  std::vector<size_t> columns;
};

FormParts parts_of(std::string_view form, const std::vector<std::string>& names) {
  FormParts parts;
  while (true) {
    const size_t open = form.find('{'), close = form.find('}', open);
    parts.texts.emplace_back(form.substr(0, open));
    if (open == std::string_view::npos) break;
    require(close != std::string_view::npos, "the template has a {{ without its }}: {}",
            std::string(form.substr(open)));
    parts.columns.push_back(column_named(names, form.substr(open + 1, close - open - 1)));
    form.remove_prefix(close + 1);
  }
  require(!parts.columns.empty(), "the template names no column: \"{{{}}}\", say", names.back());
  return parts;
}

}  // namespace

std::vector<ChoiceItem> read_choice_lines(const std::filesystem::path& path) {
  std::vector<ChoiceItem> items;
  for_each_line(path, choice_file, [&](int64_t number, std::string_view line) {
    if (line.empty()) return;
    items.push_back(item_of(models::parse_json(line)));
    items.back().place = fmt::format("{}, line {}", path.string(), number);
  });
  require(!items.empty(), "{}: holds no item", path.string());
  return items;
}

ChoiceFile read_choices(const std::filesystem::path& path) {
  if (path.filename().string().ends_with("task.json")) return read_big_bench(path);
  return {read_choice_lines(path)};
}

std::vector<ChoiceItem> read_choice_table(const std::filesystem::path& path, const ChoiceTable& table) {
  require(table.answers.size() >= 2, "{}: {} answers to choose from; expected two or more", path.string(),
          table.answers.size());
  for (const std::string& answer : table.answers) require(!answer.empty(), "{}: an answer is empty", path.string());
  std::vector<ChoiceItem> items;
  FormParts parts;
  size_t label = 0;
  for_each_row(
      path, choice_file,
      [&](const std::vector<std::string>& names) {
        parts = parts_of(table.form, names);
        label = column_named(names, table.label);
      },
      [&](int64_t number, const std::vector<std::string_view>& cells) {
        ChoiceItem item{"", table.answers, 0, fmt::format("{}, line {}", path.string(), number)};
        for (size_t i = 0; i < parts.columns.size(); ++i)
          item.prompt.append(parts.texts[i]).append(cells[parts.columns[i]]);
        item.prompt += parts.texts.back();
        item.answer = class_number(cells[label], static_cast<int64_t>(table.answers.size()), "answers");
        items.push_back(std::move(item));
      });
  return items;
}

}  // namespace headroom::tasks
