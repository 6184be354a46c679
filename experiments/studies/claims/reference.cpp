#include "experiments/studies/claims/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/read_number.h"
#include "experiments/output/number.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

/// Keys that describe a table.
bool is_remark(const std::string& key) {
  return key == "lines" || key == "model" || key == "note" || key == "seed" || key == "source";
}

bool is_column(const Json& node) {
  return node.is_array() && !node.empty() &&
         std::all_of(node.begin(), node.end(), [](const Json& item) { return item.is_number(); });
}

std::string setting(const Json& table) {
  std::string text = table.value("model", "");
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (table.contains("seed")) add("seed " + table["seed"].dump());
  if (table.contains("lines"))
    add(fmt::format("lines {}–{} of the source", table["lines"][0].dump(), table["lines"][1].dump()));
  return text;
}

PaperPath below(PaperPath path, const std::string& key) {
  path.push_back(key);
  return path;
}

/// A row in its words: "init svd, stage1 yes".
std::string row_label(const Json& row) {
  std::string text;
  for (const auto& [key, value] : row.items()) {
    if (value.is_string()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, value.get<std::string>());
    if (value.is_boolean())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, value.get<bool>() ? "yes" : "no");
  }
  return text;
}

void collect(const Json& node, const PaperPath& path, const std::string& label, std::vector<PaperNumber>& out) {
  const auto name = [&](const std::string& key) { return label.empty() ? key : label + ", " + key; };
  if (node.is_number()) {
    out.push_back({path, label, node.get<double>()});
  } else if (node.is_object()) {
    const Json* first = nullptr;  // of the columns: what the others stand against
    std::string axis;
    for (const auto& [key, value] : node.items()) {
      if (is_remark(key)) continue;
      if (!is_column(value)) {
        collect(value, below(path, key), name(key), out);
      } else if (!first) {
        first = &value;
        axis = key;
      } else {
        for (size_t i = 0; i < std::min(value.size(), first->size()); ++i) {
          const std::string x = exact((*first)[i].get<double>());
          collect(value[i], below(below(path, key), x), fmt::format("{}, {} = {}", name(key), axis, x), out);
        }
      }
    }
  } else if (node.is_array()) {
    for (size_t i = 0; i < node.size(); ++i)
      collect(node[i], below(path, std::to_string(i)),
              node[i].is_object() ? name(row_label(node[i])) : name(std::to_string(i)), out);
  }
}

std::vector<PaperTable> read_tables() {
  const Json all = Json::parse(kPaperTables);
  std::vector<PaperTable> tables;
  for (const auto& [key, value] : all.items()) {
    if (!value.is_object()) continue;
    tables.push_back({key, setting(value), {}});
    collect(value, {key}, "", tables.back().numbers);
  }
  return tables;
}

}  // namespace

const std::vector<PaperTable>& paper_tables() {
  static const std::vector<PaperTable> tables = read_tables();
  return tables;
}

std::optional<double> paper_number(const PaperPath& path) {
  for (const PaperTable& table : paper_tables())
    for (const PaperNumber& number : table.numbers)
      if (number.path == path) return number.value;
  return std::nullopt;
}

std::vector<std::pair<double, double>> paper_points(const PaperPath& path) {
  std::vector<std::pair<double, double>> points;
  for (const PaperTable& table : paper_tables()) {
    for (const PaperNumber& number : table.numbers) {
      if (number.path.size() != path.size() + 1 || !std::equal(path.begin(), path.end(), number.path.begin())) continue;
      if (const auto x = read_number<double>(number.path.back())) points.emplace_back(*x, number.value);
    }
  }
  std::sort(points.begin(), points.end());
  return points;
}

const std::vector<PaperSentence>& paper_sentences() {
  static const std::vector<PaperSentence> all = [] {
    std::vector<PaperSentence> read;
    for (const nlohmann::json& s : nlohmann::json::parse(kPaperSentences))
      read.push_back({s.at("id"), s.at("where"), s.at("says"), s.value("untested", ""),
                      s.value("elsewhere", std::vector<std::string>{}), s.value("at_most", ""),
                      s.value("because", "")});
    return read;
  }();
  return all;
}

}  // namespace headroom::experiments
