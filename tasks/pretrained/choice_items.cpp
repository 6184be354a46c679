#include "tasks/pretrained/choice_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/files/mapped_file.h"
#include "models/files/utf8.h"

namespace headroom::tasks {
namespace {

using nlohmann::json;

constexpr models::FileKind choice_file{"file of choices", uint64_t{1} << 30};

/// f(line, its text without the end) for all lines. Texts that are not UTF-8 are refused.
template <class F>
void for_each_line(const std::filesystem::path& path, F&& f) {
  const models::MappedFile file(path, choice_file);
  std::string_view text = file.text();
  require(models::valid_utf8(text) == text.size(), "{}: is not UTF-8 from byte {} on", path.string(),
          models::valid_utf8(text));
  for (int64_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view own = text.substr(0, end);
    if (!own.empty() && own.back() == '\r') own.remove_suffix(1);
    try {
      f(line, own);
    } catch (const Error& error) {
      fail("{}, line {}: {}", path.string(), line, error.what());
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string text_at(const json& item, const char* key) {
  const auto found = item.find(key);
  require(found != item.end() && found->is_string(), "wants a text \"{}\"", key);
  return found->get<std::string>();
}

ChoiceItem item_of(const json& line) {
  require(line.is_object(), "wants an object with prompt, choices and answer, got {}", models::shown(line));
  ChoiceItem item;
  item.prompt = text_at(line, "prompt");
  const auto choices = line.find("choices"), answer = line.find("answer");
  require(choices != line.end() && choices->is_array() && choices->size() >= 2,
          "wants a list \"choices\" of two or more");
  for (const json& choice : *choices) {
    require(choice.is_string() && !choice.get_ref<const std::string&>().empty(), "choices: {} is no text",
            models::shown(choice));
    item.choices.push_back(choice.get<std::string>());
  }
  require(answer != line.end() && answer->is_number_integer(), "wants a whole number \"answer\"");
  item.answer = answer->get<int64_t>();
  require(item.answer >= 0 && item.answer < static_cast<int64_t>(item.choices.size()),
          "answer: {} is none of {} choices, which are counted from 0", item.answer, item.choices.size());
  return item;
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  while (true) {
    const size_t tab = std::min(line.find('\t'), line.size());
    columns.push_back(line.substr(0, tab));
    if (tab == line.size()) return columns;
    line.remove_prefix(tab + 1);
  }
}

size_t column_named(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), "there is no column '{}'; there are {}", name, fmt::join(names, ", "));
  return static_cast<size_t>(found - names.begin());
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
  for_each_line(path, [&](int64_t number, std::string_view line) {
    if (line.empty()) return;
    items.push_back(item_of(models::parse_json(line)));
    items.back().place = fmt::format("{}, line {}", path.string(), number);
  });
  require(!items.empty(), "{}: holds no item", path.string());
  return items;
}

std::vector<ChoiceItem> read_choice_table(const std::filesystem::path& path, const ChoiceTable& table) {
  require(table.answers.size() >= 2, "{}: {} answers to choose from; two or more are wanted", path.string(),
          table.answers.size());
  for (const std::string& answer : table.answers) require(!answer.empty(), "{}: an answer is empty", path.string());
  std::vector<ChoiceItem> items;
  std::vector<std::string> names;
  FormParts parts;
  size_t label = 0;
  for_each_line(path, [&](int64_t number, std::string_view line) {
    const std::vector<std::string_view> columns = columns_of(line);
    if (number == 1) {
      names.assign(columns.begin(), columns.end());
      parts = parts_of(table.form, names);
      label = column_named(names, table.label);
      return;
    }
    if (line.empty()) return;
    require(columns.size() == names.size(), "{} columns, the first line names {}", columns.size(), names.size());
    ChoiceItem item{"", table.answers, 0, fmt::format("{}, line {}", path.string(), number)};
    for (size_t i = 0; i < parts.columns.size(); ++i)
      item.prompt.append(parts.texts[i]).append(columns[parts.columns[i]]);
    item.prompt += parts.texts.back();
    const std::string_view own = columns[label];
    const auto [end, error] = std::from_chars(own.data(), own.data() + own.size(), item.answer);
    require(error == std::errc() && end == own.data() + own.size() && item.answer >= 0 &&
                item.answer < static_cast<int64_t>(table.answers.size()),
            "label '{}' is none of 0 to {}, the numbers of the answers", own.substr(0, 40), table.answers.size() - 1);
    items.push_back(std::move(item));
  });
  require(!items.empty(), "{}: holds no item", path.string());
  return items;
}

}  // namespace headroom::tasks
