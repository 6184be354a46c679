#include "experiments/studies/claims/claim_config.h"

#include <fmt/format.h>

#include <map>

#include "engine/error.h"
#include "experiments/output/number.h"

namespace headroom::experiments {

const ClaimKind& claim_kind(const std::string& name) {
  std::vector<const char*> known;
  for (const ClaimKind* kind : claim_kinds()) {
    if (kind->name == name) return *kind;
    known.push_back(kind->name);
  }
  fail("claim: unknown kind '{}'; known are {}", name, fmt::join(known, ", "));
}

ClaimSource source(const ClaimConfig& claim) {
  if (!claim.paper.empty()) return ClaimSource::paper;
  return claim.theorem.empty() ? ClaimSource::ours : ClaimSource::theorem;
}

const char* name(ClaimSource source) {
  return source == ClaimSource::paper ? "paper" : source == ClaimSource::theorem ? "theorem" : "ours";
}

std::string own_words(const ClaimConfig& claim) {
  return !claim.paper.empty() ? claim.paper : !claim.theorem.empty() ? claim.theorem : claim.ours;
}

std::string in_words(const ClaimConfig& claim) {
  const std::string words = own_words(claim);
  return words.empty() ? claim_name(claim) : words;
}

std::optional<RequiredKey> missing_key(const ClaimConfig& claim) {
  const ClaimKeys& keys = claim.keys;
  const bool has_limits = keys.limits.any();
  const std::map<std::string, bool> given{
      {"among", !keys.among.empty() || has_limits},
      {"at", keys.at.has_value()},
      {"bound", !keys.bound.empty()},
      {"direction", !keys.direction.empty()},
      {"factor", keys.factor > 1},
      {"log_error", claim.log_error},
      {"low", has_limits},
      {"of", !keys.of.empty() || keys.value || claim.paper_number || !claim.reference.empty()},
      {"percent", keys.percent > 0},
      {"than", keys.than.has_problem || !keys.than.series.empty() || !keys.than.metric.empty() || keys.than.at},
      {"value", keys.value.has_value()}};
  for (const RequiredKey& one : claim.kind->required)
    if (!given.at(one.key)) return one;
  return std::nullopt;
}

std::string interval(const Limits& limits) {
  return fmt::format("[{}, {}]", limits.low ? exact(*limits.low) : "−∞", limits.high ? exact(*limits.high) : "∞");
}

std::string claim_name(const ClaimConfig& claim) {
  std::string text = claim.kind->name + claim.kind->details(claim.keys);
  if (claim.from || claim.to)
    text += fmt::format(" on {}…{}", claim.from ? exact(*claim.from) : "", claim.to ? exact(*claim.to) : "");
  if (!claim.metric.empty()) text += " · " + claim.metric;
  if (!claim.series.empty()) text += " · " + claim.series;
  return text;
}

}  // namespace headroom::experiments
