#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

/// The sources of claims in the order in which pages show them.
constexpr ClaimSource claim_sources[] = {ClaimSource::paper, ClaimSource::theorem, ClaimSource::ours};

/// What claims of one source are called: "The paper’s claims", "Checks of theorems", "Our own claims".
const char* plural(ClaimSource source);

/// How many claims of one source, or of all, hold: "2 hold, 1 fails, 1 not run"; "" without any.
std::string tally(const std::vector<Verdict>& verdicts, std::optional<ClaimSource> source = {});

/// All sources in one line: "The paper’s claims: 2 hold. Checks of theorems: 1 fails."
std::string headline(const std::vector<Verdict>& verdicts);

/// That no model of a trained study has learned its task, by the limit of its claims or by unlearned_share, how far the
/// best came and what to change; "" where one has, and where nothing was trained or the metric has no such limit.
std::string nothing_learned(const Analysis& results);

/// The first thing to say of a study: that nothing was learned, where that is so and no claim is decided; otherwise the
/// line above, said of a pilot where the profile is not the paper's own ("In a pilot (profile quick), the paper’s
/// claims: …"), and how many seeds would decide what is undecided.
std::string headline(const Analysis& results);

/// What a study found, in one sentence with an interval: of its claims (decided ones before others; the paper's before
/// our own, and these before theorems) the first with what was measured. "“both ends are worse” (D 64) holds in a
/// pilot: …". Without a claim that was judged, why there is none.
std::string finding(const Analysis& results);

/// The levels of the verdicts' confidence intervals: "90 %", "90 to 99.4 %"; "" without intervals.
std::string interval_levels(const std::vector<Verdict>& verdicts);

/// What a claim is about, behind its words: " (D 64)", " (narrow against few)"; "" in a study without series.
std::string subject_in_brackets(const ClaimConfig& claim);

/// "33 of 33 trials done, 3 failed, 4.1 min of training".
std::string progress_of(const StudyResults& results);

}  // namespace headroom::experiments
