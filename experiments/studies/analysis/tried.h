#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "experiments/studies/claims/study_results.h"

/// What was measured at the values of a key that `best_of` swept, the taken ones and the others.
namespace headroom::experiments {

/// The only key that the trials of a series choose by; "" where there is none, or several. A `series` of null: of all.
std::string choice_key(const StudyResults& results, const std::string* series = nullptr);

/// The trials at one x of a series: value of the swept key → seed → the report's metric on validation, on test data
/// where a task has no other; NaN of a trial that failed.
using Tried = std::map<double, std::map<int64_t, double>>;
std::map<double, Tried> tried_by_x(const StudyResults& results, const std::string& series, const std::string& key);

/// The seeds that every value has: later rounds train more seeds at the chosen one alone.
std::set<int64_t> common_seeds(const Tried& tried);

}  // namespace headroom::experiments
