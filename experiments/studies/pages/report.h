#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "experiments/output/terminal_look.h"
#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/analysis/verdict.h"

namespace headroom::experiments {

/// Writes what a study found into `folder`, which is made where it is missing:
///
///   report.html    one self-contained page: verdicts, figures, tables, config, provenance
///   figure*.svg    the page's figures
///   results.csv    one row per trial, ordered by (series, x, choice, seed)
///   metrics.csv    the same without clock times: equal bytes for equal results
///   config.toml    the resolved config
///   verdicts.json  every claim with its numbers
///   summary.json   what the index of all studies says of it
///
/// Each file appears whole or not at all. Returns the path of report.html. Throws Error naming the path when a file
/// cannot be written.
std::filesystem::path write_report(const Analysis& results, const std::filesystem::path& folder);

/// The headline, the verdicts and the curves in plain text, at most as wide as the terminal, or 100 characters, where
/// numbers allow. On a terminal (`look.columns` > 0) sentences go on in further lines, and a verdict's word has its
/// colour. Its p-values appear if `look.is_verbose`, and where more seeds would not decide it.
std::string terminal_table(const Analysis& results, TerminalLook look = {});

/// Once a series of a run has all its trials: its curve as bars in a line, and below it, in words and numbers, each
/// verdict that it has part in which is decided, or no longer is. `told`: the verdicts of earlier calls, by claim; one
/// that stays the same is not told again.
std::vector<std::string> series_news(const Analysis& so_far, const std::string& series,
                                     std::map<std::string, VerdictStatus>& told);

}  // namespace headroom::experiments
