#pragma once
#include <string>
#include <vector>

#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/analysis/verdict.h"

namespace headroom::experiments {

/// The verdicts on runs of other programs as one self-contained page: the answer, a figure of the arms, every claim,
/// the arms in numbers, all runs, what was left out and why, and the claims file. `notes`: lines about the runs;
/// `command` gives the same verdicts again.
std::string judge_page(const Analysis& results, const std::vector<std::string>& notes, const std::string& command);

/// The verdicts as JUnit XML, a test case each: a fail is a failure, an undecided claim or one that was not judged is
/// skipped. `notes` go to system-out.
std::string junit_xml(const std::string& suite, const std::vector<Verdict>& verdicts,
                      const std::vector<std::string>& notes);

}  // namespace headroom::experiments
