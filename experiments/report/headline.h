#pragma once
#include <string>
#include <vector>

#include "experiments/claims/claims.h"
#include "experiments/claims/study_results.h"

namespace headroom::experiments {

/// Whether a claim is ours and not the paper's.
bool is_ours(const ClaimConfig& claim);

/// The claim in words: the paper's, ours, or its name where the study says none.
std::string in_words(const ClaimConfig& claim);

/// How many claims of one side hold: "2 hold, 1 fails, 1 not run"; "" without any.
std::string tally(const std::vector<Verdict>& verdicts, bool ours);

/// Both sides in one line: "The paper's claims: 2 hold. Our own: 1 fails."
std::string headline(const std::vector<Verdict>& verdicts);

/// "33 of 33 trials done, 3 failed, 4.1 min of training".
std::string progress_of(const StudyResults& results);

/// Clock time of all trials, in seconds.
double training_seconds(const StudyResults& results);

/// Clock time in which at least one trial was being trained, in seconds: what the study took, pauses left out.
double wall_seconds(const StudyResults& results);

/// A time for people: "0.4 s", "12 s", "4.1 min", "2.5 h".
std::string duration(double seconds);

}  // namespace headroom::experiments
