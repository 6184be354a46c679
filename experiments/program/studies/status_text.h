#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/studies/run/run_state.h"
#include "experiments/studies/run/stored_runs.h"

namespace headroom::experiments {

/// A run's state and the leases of its store, read for a terminal.
struct RunStatus {
  StoredRun run;
  RunState state;
  std::vector<Lease> leases;
};

/// Throws Error as RunStore's functions do.
RunStatus read_status(const StoredRun& run);

/// "wide · quick   12 of 27 trials finished, 0 failed, 2 running, 13 to do · about 4 min left".
std::string status_line(const RunStatus& status);
/// The same in two lines, the time left in the first: a narrow terminal cuts the end of a line.
std::string status_heading(const RunStatus& status);
/// Its tags and notes, a line each, then a line for every trial that is being trained.
std::string status_details(const RunStatus& status);
/// The same as one object.
nlohmann::json status_json(const RunStatus& status);

/// Shows the runs of these studies, or all, again and again until each has come to its end, or none of them was trained
/// for a minute. On a terminal the text is written over; elsewhere a run's line is printed when it has changed. Returns
/// the exit status: 0, 1 when trials are left that nobody trains, 130 after Ctrl-C. A store that cannot be read is said
/// to be so. Throws Error when there is no run at all.
int watch_runs(const std::vector<std::string>& studies, const std::string& out, double every_seconds);

/// The runs under `out` of these studies (ids, or files "….toml"), or all. Throws Error when there is none.
std::vector<StoredRun> runs_of(const std::vector<std::string>& studies, const std::string& out);

}  // namespace headroom::experiments
