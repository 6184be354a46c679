#pragma once
#include <nlohmann/json.hpp>

#include "experiments/program/serve/run_reader.h"

namespace headroom::experiments {

/// The state of a run for a list: counts, time left, tags, notes, pages; or its problem.
nlohmann::ordered_json run_json(const RunSnapshot& snapshot);

/// One trial.
nlohmann::ordered_json trial_json(const RunSnapshot& snapshot, const TrialState& trial);

/// The load of this machine: runnable processes (mean of the last minute, null if unknown), cores, and bytes of memory
/// (0 if unknown).
nlohmann::ordered_json machine_json();

/// JSON as text; invalid UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace headroom::experiments
