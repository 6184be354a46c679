#include "experiments/studies/claims/claim_config.h"

#include <fmt/format.h>

#include "engine/error.h"
#include "experiments/output/number.h"

namespace headroom::experiments {

const std::vector<std::string>& claim_kinds() {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> names;
    for_each_kind([&](const auto& kind) { names.emplace_back(kind.name); });
    return names;
  }();
  return kinds;
}

ClaimKind claim_kind(const std::string& name) {
  std::optional<ClaimKind> found;
  for_each_kind([&](const auto& kind) {
    if (name == kind.name) found = kind;
  });
  require(found.has_value(), "claim: unknown kind '{}'; known are {}", name, fmt::join(claim_kinds(), ", "));
  return *found;
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

std::string kind_name(const ClaimConfig& claim) {
  return std::visit([](const auto& kind) { return kind.name; }, claim.kind);
}

bool compares(const ClaimConfig& claim) {
  return std::visit([](const auto& kind) { return kind.compares; }, claim.kind);
}

std::optional<MissingKey> missing_key(const ClaimConfig& claim) {
  return std::visit([&](const auto& kind) { return kind.missing(claim); }, claim.kind);
}

std::string claim_name(const ClaimConfig& claim) {
  std::string text = kind_name(claim) + std::visit([](const auto& kind) { return kind.details(); }, claim.kind);
  if (claim.from || claim.to)
    text += fmt::format(" on {}…{}", claim.from ? exact(*claim.from) : "", claim.to ? exact(*claim.to) : "");
  if (!claim.metric.empty()) text += " · " + claim.metric;
  if (!claim.series.empty()) text += " · " + claim.series;
  return text;
}

}  // namespace headroom::experiments
