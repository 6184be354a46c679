#include "experiments/studies/claims/value_set.h"

#include <fmt/format.h>

#include <vector>

#include "experiments/output/number.h"

namespace headroom::experiments {

std::string ValueSet::text() const {
  constexpr size_t most_listed = 5;
  std::vector<std::string> parts;
  for (const double number : numbers) parts.push_back(exact(number));
  if (parts.size() > most_listed) parts = {fmt::format("{} to {}", parts.front(), parts.back())};
  parts.insert(parts.end(), words.begin(), words.end());
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace headroom::experiments
