#include "experiments/studies/words/seal_words.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace headroom::experiments {

std::vector<std::string> seal_lines(const StudyResults& results) {
  if (!results.seal) return {};
  const SealedClaims& seal = *results.seal;
  const std::string date = fmt::format("Claims sealed on {:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time_t{seal.at}));
  std::vector<std::string> lines{
      !seal.begun_before.empty() ? fmt::format("{}, after {} had begun.", date, seal.begun_before)
      : results.trials.empty() || seal.has_dates
          ? date + ", before the first trial."
          : date + ". Not all of these runs say when they began, so they may be older.",
  };
  for (const std::string& change : seal.changes) lines.push_back("Changed since: " + change);
  return lines;
}

}  // namespace headroom::experiments
