#include "experiments/studies/claims/smallest_effect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "experiments/output/number.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

/// Whether `words` stand in a text and are no part of longer ones: "3 times" is none of "13 times", "half" none of
/// "behalf".
bool stands_in(const std::string& text, const std::string& words) {
  const auto is_of_number = [&](size_t i) {
    return std::isdigit(static_cast<unsigned char>(text[i])) || text[i] == '.' || text[i] == ',';
  };
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    const size_t end = at + words.size();
    const bool goes_on =
        end + 1 < text.size() && is_of_number(end) && std::isdigit(static_cast<unsigned char>(text[end + 1]));
    const bool is_digit_next = end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]));
    const bool is_in_word = (at > 0 && std::isalpha(static_cast<unsigned char>(text[at - 1]))) ||
                            (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])));
    if (!goes_on && !is_digit_next && !is_in_word && (at == 0 || !is_of_number(at - 1))) return true;
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
  static const char* const counts[] = {"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"};
  const std::string times = exact(factor), percent = exact(std::round(1e6 * (factor - 1)) / 1e4);
  std::vector<std::string> forms{times + " times",     times + "×",          times + " ×",         times + "x",
                                 "factor of " + times, "factor " + times,    "1/" + times,         percent + " %",
                                 percent + "%",        percent + " percent", percent + " per cent"};
  if (factor == 2) forms.insert(forms.end(), {"twice", "half", "halves", "halved", "double", "doubles", "doubled"});
  if (factor == std::floor(factor) && factor >= 2 && factor <= 10) {
    const std::string count = counts[static_cast<size_t>(factor) - 2];
    forms.insert(forms.end(), {count + " times", "factor of " + count});
  }
  return std::any_of(forms.begin(), forms.end(), [&](const std::string& form) { return stands_in(text, form); });
}

bool needs_reason(const ClaimConfig& claim, const std::string& metric) {
  const std::optional<double> factor = stated_effect(claim);
  const std::string words = claim.paper + claim.theorem + claim.ours;
  if (!factor || *factor == 1 || words.empty() || !claim.because.empty()) return false;
  return *factor != standard_effect(metric) && !names_effect(words, *factor);
}

}  // namespace headroom::experiments
