#include "experiments/studies/claims/claim_config.h"

#include <fmt/format.h>

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

std::string in_words(const ClaimConfig& claim) {
  for (const std::string* words : {&claim.paper, &claim.theorem, &claim.ours})
    if (!words->empty()) return *words;
  return claim_name(claim);
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
