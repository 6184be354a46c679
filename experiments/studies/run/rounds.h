#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/studies/claims/study_results.h"
#include "experiments/studies/config/study.h"

namespace headroom::experiments {

/// Trials that came to an end, by id.
using Records = std::unordered_map<std::string, TrialRecord>;

/// A study's progress: its plan so far, and the round in training or last trained.
struct Rounds {
  Study study;  ///< `trials`: of all rounds so far; `later`: what further ones may still add
  int64_t round = 1;
  LooksTaken looks{};
  std::vector<std::string> notes{};  ///< what each later round added, and which choices cannot be widened; a line each
};

/// What to train next, given what is stored: a pure function of both, so that every process, and every run after one
/// that was stopped, comes to the same rounds. A study without rules for further rounds has one.
///
/// A round ends when each of its trials has come to an end. Then, first, every x of every series whose choice by
/// validation (claims/curve.h) stands at the end of a grid that is to be extended gets the next value beyond that end,
/// for the seeds of the first round, until no choice stands at an end or the grid's limits are reached; then, once,
/// the values between a choice and neighbours over twice as far, where its grid is to be refined. After that choices
/// stay: seeds of later rounds train with them alone. The claims are judged, at the share of their significance
/// that a look may spend (claims/looks.h); while further seeds may decide one that is undecided, the x that it still
/// hangs on (Verdict::open) get the seeds of the next look, all that a comparison takes at once: it is paired over
/// seeds. So do others of an undecided claim's series that have a stored trial of it. Throws Error as Analysis does.
Rounds plan_rounds(const Study& study, const Records& records);

/// Leaves out of `later` the seeds that no run has asked for, which neither its plan nor `records` have, unless there
/// is no plan. A report then judges the looks that were taken, whatever today's tests would have made of them: only the
/// next run takes another.
void keep_asked_for(Study& study, const std::vector<PlanEntry>& plan, const Records& records);

/// Results of the series whose planned trials are all among `records`, with the claims that are about them alone. The
/// others are to come, so that a verdict which is decided here stays so whatever they will show, unless a later round
/// adds seeds to its series.
StudyResults round_results(const Rounds& rounds, const Records& records);

/// The largest possible plan: every value of every grid, and all seeds at one choice for each x.
std::vector<const PlannedTrial*> largest_plan(const Study& study);

/// The largest possible number of rounds.
int64_t most_rounds(const Study& study);

}  // namespace headroom::experiments
