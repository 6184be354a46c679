#include "experiments/claims/smallest_effect.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "experiments/claims/number.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

/// Whether `number` stands in a text, and not as a part of a longer one.
bool stands_in(const std::string& text, const std::string& number) {
  const auto is_digit = [&](size_t i) { return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); };
  for (size_t at = text.find(number); at != std::string::npos; at = text.find(number, at + 1)) {
    const size_t end = at + number.size();
    const bool goes_on = is_digit(end) || (end < text.size() && text[end] == '.' && is_digit(end + 1));
    const bool has_begun = at > 0 && (is_digit(at - 1) || text[at - 1] == '.');
    if (!goes_on && !has_begun) return true;
  }
  return false;
}

}  // namespace

double standard_effect(const std::string& metric) {
  const bool is_narrow = metric.starts_with("cross_entropy") || metric == "perplexity" || metric == "bits_per_char" ||
                         metric.ends_with("_loss") || tasks::larger_is_better(metric);
  return is_narrow ? 1.01 : 1.1;
}

std::optional<double> stated_effect(const ClaimConfig& claim) {
  return std::visit(
      [](const auto& kind) -> std::optional<double> {
        if constexpr (requires { kind.factor; }) return kind.factor;
        else return std::nullopt;
      },
      claim.kind);
}

bool names_effect(const std::string& text, double factor) {
  const double percent = std::round(1e6 * (factor - 1)) / 1e4;
  return stands_in(text, exact(factor)) || stands_in(text, exact(percent) + " %");
}

bool wants_reason(const ClaimConfig& claim, const std::string& metric) {
  const std::optional<double> factor = stated_effect(claim);
  const std::string words = claim.paper + claim.theorem + claim.ours;
  if (!factor || *factor == 1 || words.empty() || !claim.because.empty()) return false;
  return *factor != standard_effect(metric) && !names_effect(words, *factor);
}

}  // namespace headroom::experiments
