#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

/// How a run of another program ended, as far as its files say.
enum class RunEnd { finished, failed, running };

/// A run that another program made.
struct ForeignRun {
  std::string source;                                        ///< "runs.csv:12"
  std::map<std::string, std::string> parameters;             ///< settings as text, the seed among them
  std::map<std::string, std::map<int64_t, double>> metrics;  ///< name → step → value; step 0 where there are no steps
  RunEnd end = RunEnd::finished;
  std::string said{};           ///< of its end: "status = crashed"
  double began = 0, ended = 0;  ///< seconds since 1970; 0: not known
};

/// What files of runs hold, and in words what of them could not be read.
struct ForeignRuns {
  std::vector<ForeignRun> runs;
  std::vector<std::string> problems;
};

/// [runs] of a claims file: what the columns of a table, or the parameters of logged runs, stand for.
struct RunRoles {
  std::string metric, choose;              ///< what claims speak of; what rates are chosen by, "" for the metric
  std::vector<std::string> series, rate;   ///< columns that name an arm; columns tuned for each arm
  std::string x, seed, step, run, status;  ///< "" where there is none
  bool larger_is_better = false, larger_chosen = false;
  std::optional<int64_t> at_step;                          ///< that values are taken at; without: the last common one
  bool at_own_last = false;                                ///< values are taken at each run's own last step
  std::vector<std::pair<std::string, std::string>> where;  ///< column → value: only such runs are judged
  std::string identical;                                   ///< why runs with identical metrics are several; "" if not
  int64_t looks = 1;                                       ///< planned while runs come in (looks_kept.h)
  bool anytime = false;                                    ///< p-values hold at any number of looks
  std::set<std::string> claimed{};                         ///< metrics that claims name
  /// Whether a column is a parameter by its role.
  bool names(const std::string& column) const;
};

/// Reads [runs]. Roles that it does not name are "": guess_roles() fills them in.
RunRoles bind_roles(Reader& in);

/// Finds seed, and where no claims file says it (`all`), metric, series, x and rate, by their names and values.
/// Whatever is there already stays.
void guess_roles(RunRoles& roles, const std::vector<ForeignRun>& runs, bool all);

/// Names by which programs call a column, or a parameter with dots before it: "seed", "learning_rate", "step", …
enum class ColumnSort { seed, rate, step, run, status, clock, metric, other };
ColumnSort sort_of_name(const std::string& column);

/// Lower case, and of "trainer/global_step" or "config.lr" the last part alone.
std::string bare_name(const std::string& column);

/// How a run ended by a program's word for it, in any case: "FINISHED", "running". Unknown words are failures.
RunEnd end_named(std::string word);

/// A number as programs write it: also nan, inf, with a + before it and spaces around it. Nothing for other text.
std::optional<double> foreign_number(std::string_view text);

/// The value of one of a run's parameters; "" without it.
std::string parameter(const ForeignRun& run, const std::string& name);

/// "; did you mean "epoch"?", or what there is instead.
std::string did_you_mean(const std::string& name, const std::set<std::string>& known);

/// "runs.csv:3, runs.csv:7 and 12 more".
std::string some_of(const std::vector<std::string>& names);

}  // namespace headroom::experiments
