#include "experiments/studies/pages/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "experiments/output/number.h"
#include "experiments/output/units.h"
#include "experiments/studies/words/verdict_words.h"

namespace headroom::experiments {

const char* plural(ClaimSource source) {
  if (source == ClaimSource::paper) return "The paper’s claims";
  return source == ClaimSource::theorem ? "Checks of theorems" : "Our own claims";
}

std::string tally(const std::vector<Verdict>& verdicts, std::optional<ClaimSource> of) {
  std::map<VerdictStatus, int> counts;
  for (const Verdict& v : verdicts)
    if (!of || source(v.claim) == *of) ++counts[v.status];
  std::vector<std::string> parts;
  for (const auto& [status, count] : counts) {
    std::string word = name(status);
    if (status == VerdictStatus::pass) word = count == 1 ? "holds" : "hold";
    if (status == VerdictStatus::fail) word = count == 1 ? "fails" : "fail";
    parts.push_back(fmt::format("{} {}", count, word));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string headline(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> parts;
  for (const ClaimSource source : claim_sources)
    if (const std::string counts = tally(verdicts, source); !counts.empty())
      parts.push_back(fmt::format("{}: {}.", plural(source), counts));
  return parts.empty() ? "This profile judges no claim." : fmt::format("{}", fmt::join(parts, " "));
}

namespace {

/// How far the best model is from having learned its task, in the metric's own terms.
std::string how_near(const std::string& metric, const Unlearned& found) {
  if (!found.stated && !found.floor)
    return fmt::format("the best leaves {} % of the variance", rounded(100 * found.best));
  return fmt::format("the best {} is {}, and learning takes {}", metric,
                     rounded_beside(found.best, found.stated ? found.stated : found.floor),
                     found.stated
                         ? exact(*found.stated)
                         : fmt::format("less than the {} of a table that sees one token alone", exact(*found.floor)));
}

/// " About 12 seeds would decide 2 of the 3 undecided claims."; "" where more seeds decide nothing.
std::string seeds_sentence(const std::vector<Verdict>& verdicts) {
  int64_t undecided = 0, decidable = 0;
  int seeds = 0;
  for (const Verdict& v : verdicts) {
    if (v.status != VerdictStatus::undecided) continue;
    ++undecided;
    if (!v.seeds_needed) continue;
    ++decidable;
    seeds = std::max(seeds, *v.seeds_needed);
  }
  if (decidable == 0) return "";
  const std::string which = decidable < undecided ? fmt::format("{} of the {} undecided claims", decidable, undecided)
                            : undecided == 1      ? "the undecided claim"
                                                  : fmt::format("the {} undecided claims", undecided);
  return fmt::format(" About {} seeds would decide {}.", seeds, which);
}

}  // namespace

std::string nothing_learned(const Analysis& results) {
  const std::optional<Unlearned> found = results.not_learned();
  if (!found) return "";
  const bool is_done = count_trials(results.trials) >= results.planned;
  return fmt::format("No answer yet: no model{} learned the task; {}. Train longer than {} steps{}.",
                     is_done ? "" : " so far", how_near(results.report.y_metric, *found), found->steps,
                     found->has_length ? ", or shorten task.length" : "");
}

std::string headline(const Analysis& results) {
  const std::vector<Verdict>& verdicts = results.verdicts();
  if (std::none_of(verdicts.begin(), verdicts.end(), is_decided))
    if (const std::string none = nothing_learned(results); !none.empty()) return none;
  std::string all = headline(verdicts) + seeds_sentence(verdicts);
  if (!is_pilot(results) || verdicts.empty()) return all;
  all[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(all[0])));
  return fmt::format("In a pilot (profile {}), {}", results.profile, all);
}

std::string finding(const Analysis& results) {
  const std::vector<Verdict>& verdicts = results.verdicts();
  if (verdicts.empty()) return "This profile judges no claim.";
  const auto rank = [](const Verdict& v) {  // the smallest comes first
    const ClaimSource of = source(v.claim);
    const int by_source = of == ClaimSource::paper ? 0 : of == ClaimSource::ours ? 1 : 2;
    const bool has_interval =
        std::any_of(v.intervals.begin(), v.intervals.end(), [](const auto& i) { return !std::isnan(i.low); });
    return std::tuple(v.status == VerdictStatus::not_run, !is_decided(v), by_source, !has_interval);
  };
  const Verdict& v = *std::min_element(verdicts.begin(), verdicts.end(),
                                       [&](const Verdict& a, const Verdict& b) { return rank(a) < rank(b); });
  if (v.status == VerdictStatus::not_run) return sentence(v);
  const std::string rate =
      v.claim.single_rate.empty() ? "" : fmt::format(" (rates were not tuned for each x: {})", v.claim.single_rate);
  return fmt::format("“{}”{} {}{}: {}{}.", in_words(v.claim), subject_in_brackets(v.claim), says(v.status),
                     is_pilot(results) ? " in a pilot" : "", words_of(v).found, rate);
}

std::string interval_levels(const std::vector<Verdict>& verdicts) {
  std::set<double> levels;
  for (const Verdict& v : verdicts)
    for (const ConfidenceInterval& interval : v.intervals)
      if (!std::isnan(interval.low) && !std::isnan(interval.level)) levels.insert(interval.level);
  if (levels.empty()) return "";
  const auto percent = [](double level) { return exact(std::round(1000 * level) / 10); };
  const std::string low = percent(*levels.begin()), high = percent(*levels.rbegin());
  return low == high ? low + " %" : fmt::format("{} to {} %", low, high);
}

std::string subject_in_brackets(const ClaimConfig& claim) {
  const std::string& other = claim.keys.than.series;
  if (claim.series.empty()) return "";
  return fmt::format(" ({}{})", claim.series, other.empty() || other == claim.series ? "" : " against " + other);
}

std::string progress_of(const StudyResults& r) {
  const int64_t done = count_trials(r.trials);
  const double seconds = training_seconds(r);
  return fmt::format("{} of {} trials done, {} failed{}{}", done, std::max(r.planned, done), count_failed(r),
                     r.running > 0 ? fmt::format(", {} running", r.running) : "",
                     seconds > 0 ? ", " + seconds_text(seconds) + " of training in total" : "");
}

}  // namespace headroom::experiments
