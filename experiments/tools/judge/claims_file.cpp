#include <fmt/format.h>

#include <algorithm>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/claims/bind_claim.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/toml/reader.h"
#include "experiments/tools/judge/judged.h"

namespace headroom::experiments {
namespace {

/// Metrics that claims name, before it is known whether they exist.
std::set<std::string> claimed_metrics(const Value& root) {
  std::set<std::string> metrics;
  const Entry* claims = root.find("claim");
  const auto add = [&](const Value& table, const char* key) {
    if (const Entry* entry = table.find(key); entry && entry->value.kind == Value::Kind::text)
      metrics.insert(entry->value.text);
  };
  if (claims)
    for (const Value& claim : claims->value.list) {
      for (const char* key : {"metric", "bound", "of"}) add(claim, key);
      if (const Entry* than = claim.find("than")) add(than->value, "metric");
    }
  return metrics;
}

std::string quoted(const std::string& text) {
  Value value;
  value.kind = Value::Kind::text;
  value.text = text;
  return in_line(value);
}

std::string quoted(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) parts.push_back(quoted(text));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace

RunRoles read_roles(const Value& claims_file) {
  Complaints problems;
  Reader in(claims_file, "", problems);
  RunRoles roles;
  if (!in.has("runs")) in.complain("runs", "missing table: it says which columns are the metric, the seed, the arms");
  else in.table("runs", "what the columns stand for", [&](Reader& runs) { roles = bind_roles(runs); });
  in.skip({"claim"});
  in.finish();
  problems.raise();
  roles.claimed = claimed_metrics(claims_file);
  return roles;
}

std::vector<ClaimConfig> read_claims(const Value& claims_file, const StudyResults& results) {
  const StudyScope scope = scope_of(results);
  Complaints problems;
  Reader in(claims_file, "", problems);
  std::vector<ClaimConfig> claims;
  in.skip({"runs"});
  in.tables("claim", "what is judged", [&](Reader& claim) { claims.push_back(bind_claim(claim, scope, claims)); });
  in.finish();
  problems.raise();
  return claims;
}

std::string first_claims(const RunRoles& roles, const StudyResults& results) {
  std::string text =
      "# Claims on runs: headroom judge RUNS --claims THIS_FILE. Change what is claimed before you look at "
      "verdicts.\n[runs]\n";
  const auto add = [&](const char* key, const std::string& value, const char* remark) {
    text += fmt::format("{:<16} = {:<24} # {}\n", key, value, remark);
  };
  add("metric", quoted(roles.metric), "what is compared");
  add("larger_is_better", roles.larger_is_better ? "true" : "false", "of the metric");
  if (!roles.series.empty()) add("series", quoted(roles.series), "what makes an arm");
  if (!roles.x.empty()) add("x", quoted(roles.x), "a number that arms are compared over");
  if (!roles.seed.empty()) add("seed", quoted(roles.seed), "runs of one seed pair");
  if (!roles.rate.empty()) add("rate", quoted(roles.rate), "tuned for each arm");
  if (!roles.choose.empty()) add("choose", quoted(roles.choose), "rates are chosen by this, not by the metric");
  const auto claim = [&](const std::string& keys) {
    text += fmt::format(
        "\n[[claim]]\nkind = \"less_than\"\n{}{}", keys,
        roles.rate.empty() ? "single_rate = \"say here why one learning rate is enough for all arms\"\n" : "");
  };
  const std::vector<std::string> names = series_names(results);
  for (size_t i = 1; i < std::min<size_t>(names.size(), 9); ++i)
    claim(fmt::format("series = {}\nthan = {{ series = {} }}\n", quoted(names[0]), quoted(names[i])));
  std::set<double> x;
  for (const TrialRecord& trial : results.trials)
    if (trial.series == names[0]) x.insert(trial.x);
  if (x.size() > 1)
    claim(fmt::format("{}at = {}\nthan = {{ at = {} }}\n",
                      names[0].empty() ? "" : fmt::format("series = {}\n", quoted(names[0])), exact(*x.rbegin()),
                      exact(*x.begin())));
  return text;
}

}  // namespace headroom::experiments
