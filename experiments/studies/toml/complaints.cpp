#include "experiments/studies/toml/complaints.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine/excerpt.h"

namespace headroom::experiments {
namespace {

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours.
size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

/// Our words, each with those of other software, or of a reader's guess.
const std::vector<std::pair<const char*, std::set<std::string>>> synonyms{
    {"at_most", {"max", "maximum"}},
    {"heads", {"n_heads", "num_heads", "n_head", "num_attention_heads"}},
    {"kv_heads", {"n_kv_heads"}},
    {"head_dim", {"d_head", "head_width"}},
    {"width", {"d_model", "hidden_size"}},
    {"layers", {"n_layers", "num_layers", "depth", "num_hidden_layers"}},
    {"ffn_width", {"d_ff", "intermediate_size"}},
    {"batch", {"batch_size"}},
    {"lr", {"learning_rate"}}};

/// Our word for the last one of a path; "" where it is none of other software's.
std::string our_word(const std::string& path) {
  for (const auto& [ours, theirs] : synonyms)
    if (theirs.contains(last_word(path))) return ours;
  return "";
}

/// The shortest known key of a trial with that last word, of the first table that has one.
std::string key_of_trial(const std::string& word, const std::set<std::string>& known) {
  for (const char* table : {"model.", "train.", "task."}) {
    std::string shortest;
    for (auto key = known.lower_bound(table); key != known.end() && key->starts_with(table); ++key)
      if (last_word(*key) == word && (shortest.empty() || key->size() < shortest.size())) shortest = *key;
    if (!shortest.empty()) return shortest;
  }
  return "";
}

/// The known key that an unknown one stands for, as it is written: in a sweep, the trial's keys are quoted.
std::string right_key(const std::string& path, const std::set<std::string>& known) {
  const std::string word = last_word(path), ours = our_word(path), table = path.substr(0, path.size() - word.size());
  if (!ours.empty() && known.contains(table + ours)) return table + ours;
  const std::string near = nearest_path(path, known);
  if (table == "sweep." && !near.starts_with(table)) {
    const std::string meant = key_of_trial(ours.empty() ? word : ours, known);
    if (!meant.empty()) return fmt::format("sweep.\"{}\"", meant);
  }
  return !near.empty() || ours.empty() ? near : key_of_trial(ours, known);
}

/// "series, metric, at": the keys of a table.
std::string keys_below(const std::string& table, const std::set<std::string>& known) {
  std::vector<std::string> keys;
  for (const std::string& path : known)
    if (path.starts_with(table + ".") && path.find('.', table.size() + 1) == std::string::npos)
      keys.push_back(last_word(path));
  return fmt::format("{}", fmt::join(keys, ", "));
}

}  // namespace

std::string last_word(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string nearest_path(const std::string& path, const std::set<std::string>& known) {
  constexpr size_t longest = 200;  // nothing that is known is near such a path
  std::string best;
  if (path.size() > longest) return best;
  size_t fewest = std::max<size_t>(2, last_word(path).size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = edits(path, candidate);
    if (distance < fewest) best = candidate, fewest = distance;
  }
  if (!best.empty()) return best;
  const std::string table = path.substr(0, path.find('.') + 1);  // "train.": there first
  for (const std::string& in : {table, std::string()})
    for (const std::string& candidate : known)
      if (candidate.starts_with(in) && last_word(candidate) == last_word(path)) return candidate;
  return best;
}

ConfigError::ConfigError(std::vector<std::string> problems)
    : Error(fmt::format("{}", fmt::join(problems, "\n"))), problems_(std::move(problems)) {}

void Complaints::add(const Place& place, const std::string& path, const std::string& message) {
  std::string line = message;  // an Error's further lines say where
  for (size_t at = line.find("\n  "); at != std::string::npos; at = line.find("\n  ", at)) line.replace(at, 3, "; ");
  found_.push_back({place, path, std::move(line)});
}

void Complaints::add_unknown(const Place& place, const std::string& path) { unknown_.push_back({place, path, ""}); }

void Complaints::add_all(const Complaints& others) {
  found_.insert(found_.end(), others.found_.begin(), others.found_.end());
  unknown_.insert(unknown_.end(), others.unknown_.begin(), others.unknown_.end());
}

void Complaints::know(const std::string& path, const std::string& condition) {
  known_.insert(path);
  if (condition.empty()) return;
  std::string& all = conditions_[path];
  all += (all.empty() ? "" : ", or ") + condition;
}

void Complaints::raise() const {
  if (empty()) return;
  std::vector<Complaint> all = found_;
  for (Complaint problem : unknown_) {
    const auto conditions = conditions_.find(problem.path);
    const std::string nearest = right_key(problem.path, known_);
    problem.message = conditions != conditions_.end() ? "exists only " + conditions->second
                      : nearest.empty()               ? "unknown key"
                      : problem.path.starts_with(nearest + ".")
                          ? fmt::format("unknown key; those of {} are {}", nearest, keys_below(nearest, known_))
                          : fmt::format("unknown key; did you mean {}?", nearest);
    all.push_back(problem);
  }
  std::stable_sort(all.begin(), all.end(), [](const Complaint& a, const Complaint& b) {
    return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
  });
  constexpr size_t most_bytes = 3500;
  std::vector<std::string> lines;
  std::set<std::string> told;
  size_t bytes = 0;
  for (const Complaint& problem : all) {
    std::string line = fmt::format("{}: {}{}{}", problem.place.str(), excerpt(problem.path),
                                   problem.path.empty() ? "" : ": ", excerpt(problem.message, 1000));
    if (!told.insert(line).second) continue;
    bytes += line.size();
    if (lines.empty() || bytes <= most_bytes) lines.push_back(std::move(line));
  }
  if (told.size() > lines.size()) lines.push_back(fmt::format("and {} more problems", told.size() - lines.size()));
  throw ConfigError(std::move(lines));
}

}  // namespace headroom::experiments
