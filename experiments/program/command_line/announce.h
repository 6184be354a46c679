#pragma once
#include <optional>
#include <string>

#include "experiments/studies/config/study.h"
#include "experiments/studies/run/runner.h"

namespace headroom::experiments {

/// Seconds that the trials which a study still lacks would take, from a few steps of three kinds of them; nothing where
/// counts alone say that it is less than ten minutes, where only formulas are left, or once `options.stop` was raised.
std::optional<double> estimate_run(const Study& study, const RunOptions& options);

/// The profile of a file that is best tried before a long one: quick, else the one that trains least, where that is
/// less than `study` does; "" where there is none.
std::string quicker_profile(const std::string& file, const Study& study);

/// What is said of a run of `seconds`: "ngram-tradeoff · paper: what is left to train takes about 6.3 d by estimate;
/// --profile quick takes less".
std::string announcement(const std::string& file, const Study& study, double seconds);

}  // namespace headroom::experiments
