#include "experiments/studies/claims/smallest_effect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>
#include <vector>

#include "experiments/output/number.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

/// Whether a text holds a form that is no part of longer words or numbers: "3 times" is none of "13 times", "half" none
/// of "behalf".
bool stands_in(const std::string& text, const std::string& form) {
  static const std::regex point("\\.");
  return std::regex_search(
      text, std::regex("(^|[^A-Za-z0-9.,])" + std::regex_replace(form, point, "\\.") + "(?![.,]?[0-9]|[A-Za-z])"));
}

}  // namespace

double standard_effect(const std::string& metric) {
  std::string word;  // the last of its name, as "acc" of "task/acc"
  for (auto c = metric.rbegin(); c != metric.rend() && std::isalpha(static_cast<unsigned char>(*c)); ++c)
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  std::reverse(word.begin(), word.end());
  const auto narrow = {"loss", "nll", "acc", "accuracy", "perplexity", "ppl"};
  const bool is_narrow = std::find(narrow.begin(), narrow.end(), word) != narrow.end() ||
                         metric.starts_with("cross_entropy") || metric == "bits_per_char" ||
                         tasks::larger_is_better(metric);
  return is_narrow ? 1.01 : 1.1;
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

}  // namespace headroom::experiments
