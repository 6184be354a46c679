#include "experiments/report/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace headroom::experiments {

bool is_ours(const ClaimConfig& claim) { return claim.paper.empty(); }

std::string in_words(const ClaimConfig& claim) {
  if (!claim.paper.empty()) return claim.paper;
  return claim.ours.empty() ? claim_name(claim) : claim.ours;
}

std::string tally(const std::vector<Verdict>& verdicts, bool ours) {
  const auto count = [&](VerdictStatus status) {
    return std::count_if(verdicts.begin(), verdicts.end(),
                         [&](const Verdict& v) { return is_ours(v.claim) == ours && v.status == status; });
  };
  const auto holds = count(VerdictStatus::pass), fails = count(VerdictStatus::fail);
  std::vector<std::string> parts;
  if (holds) parts.push_back(fmt::format("{} {}", holds, holds == 1 ? "holds" : "hold"));
  if (fails) parts.push_back(fmt::format("{} {}", fails, fails == 1 ? "fails" : "fail"));
  for (VerdictStatus status : {VerdictStatus::undecided, VerdictStatus::not_run})
    if (const auto n = count(status)) parts.push_back(fmt::format("{} {}", n, name(status)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string headline(const std::vector<Verdict>& verdicts) {
  const std::string paper = tally(verdicts, false), ours = tally(verdicts, true);
  if (paper.empty() && ours.empty()) return "This profile judges no claim.";
  if (ours.empty()) return fmt::format("The paper’s claims: {}.", paper);
  if (paper.empty()) return fmt::format("Our own claims: {}.", ours);
  return fmt::format("The paper’s claims: {}. Our own: {}.", paper, ours);
}

double training_seconds(const StudyResults& results) {
  double seconds = 0;
  for (const TrialRecord& t : results.trials) seconds += t.seconds;
  return seconds;
}

double wall_seconds(const StudyResults& results) {
  std::vector<std::pair<double, double>> spans;  // (begin, end)
  for (const TrialRecord& t : results.trials) spans.emplace_back(t.ended - t.seconds, t.ended);
  std::sort(spans.begin(), spans.end());
  double seconds = 0, until = -std::numeric_limits<double>::infinity();
  for (const auto& [begin, end] : spans) {
    seconds += std::max(0.0, end - std::max(begin, until));
    until = std::max(until, end);
  }
  return seconds;
}

std::string progress_of(const StudyResults& r) {
  const auto failed = std::count_if(r.trials.begin(), r.trials.end(),
                                    [](const TrialRecord& t) { return t.status == TrialStatus::failed; });
  const auto done = std::ssize(r.trials);
  const double seconds = training_seconds(r);
  return fmt::format("{} of {} trials done, {} failed{}{}", done, std::max<int64_t>(r.planned, done), failed,
                     r.running > 0 ? fmt::format(", {} running", r.running) : "",
                     seconds > 0 ? ", " + duration(seconds) + " of training" : "");
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "—";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  return seconds < 5400 ? fmt::format("{:.1f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace headroom::experiments
