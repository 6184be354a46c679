#pragma once
#include <string>
#include <vector>

#include "experiments/studies/analysis/verdict.h"

namespace headroom::experiments {

/// The verdicts as JUnit XML, a test case each: a fail is a failure, an undecided claim or one that was not judged is
/// skipped. `notes` go to system-out.
std::string junit_xml(const std::string& suite, const std::vector<Verdict>& verdicts,
                      const std::vector<std::string>& notes);

}  // namespace headroom::experiments
