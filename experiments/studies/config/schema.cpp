#include "experiments/studies/config/schema.h"

#include <fmt/format.h>

#include <vector>

#include "experiments/output/number.h"
#include "experiments/studies/claims/bind_claim.h"
#include "experiments/studies/config/bind.h"
#include "experiments/studies/config/sweep.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

Schema make_schema() {
  Schema schema;
  Complaints unused;
  Reader in(schema, unused);
  StudyInfo head;
  bind_info(in, {}, {}, head);
  join_claim_keys(schema);
  TrialConfig trial;
  bind_trial(in, trial);
  in.table("sweep", "what varies", describe_sweep);
  in.tables("series", "a curve of its own", describe_series);
  in.table("profile", "other values for other purposes: [profile.quick], [profile.smoke]", [](Reader& profiles) {
    profiles.others("NAME.KEY", "replaces a key of the file; a table in braces replaces the whole table");
  });
  return schema;
}

/// A list of more than `most_words` words is cut to its first ones.
constexpr size_t most_words = 24, first_words = 6;

std::string type_text(const Key& key, bool in_full) {
  constexpr const char* names[]{"integer",
                                "number",
                                "true or false",
                                "string",
                                "",
                                "list of numbers",
                                "string or list of strings",
                                "table",
                                "table or list of tables",
                                "value",
                                "value"};
  if (key.type != Key::Type::word) return names[static_cast<size_t>(key.type)];
  const size_t shown = in_full || key.words.size() <= most_words ? key.words.size() : first_words;
  const std::string words = fmt::format("\"{}\"", fmt::join(key.words.begin(), key.words.begin() + shown, "\" | \""));
  if (shown == key.words.size()) return words;
  return fmt::format("{} | … ({} words; headroom schema {} lists them)", words, key.words.size(), key.path);
}

/// "integer >= 1, default 32": everything except the doc.
std::string value_text(const Key& key, bool in_full) {
  std::string text = type_text(key, in_full);
  if (const std::string bounds = key.bounds.str(); !bounds.empty()) text += " " + bounds;
  if (key.is_required) return text + ", required";
  return key.default_text.empty() ? text : text + ", default " + key.default_text;
}

/// True if a key is `under` or below it.
bool is_under(const std::string& path, const std::string& under) {
  return under.empty() || path == under || path.starts_with(under + ".");
}

}  // namespace

const Schema& study_schema() {
  static const Schema schema = make_schema();
  return schema;
}

std::string schema_text(const Schema& schema, const std::string& under, size_t columns) {
  std::string out, condition;
  std::vector<std::vector<std::string>> rows;  // of one condition
  const auto flush = [&] {
    if (rows.empty()) return;
    out += aligned({{"  " + (condition.empty() ? "always" : condition)}}, columns) + aligned(rows, columns);
    rows.clear();
  };
  for (const Key& key : schema) {
    const size_t dot = key.path.find('.');
    const bool is_table = dot == std::string::npos;
    // The line of its table stands above any key.
    if (!is_under(key.path, under) && !(is_table && under.starts_with(key.path + "."))) continue;
    if (is_table || key.condition != condition) flush();
    condition = key.condition;
    if (is_table) {
      const bool is_list = key.type == Key::Type::tables;
      if (!out.empty()) out += '\n';
      out += aligned({{fmt::format("{}{}{}  # {}", is_list ? "[[" : "[", key.path, is_list ? "]]" : "]", key.doc)}},
                     columns);
      continue;
    }
    rows.push_back({"    " + key.path.substr(dot + 1), value_text(key, !under.empty())});
    rows.push_back({"", "  " + key.doc});
  }
  flush();
  return out;
}

}  // namespace headroom::experiments
