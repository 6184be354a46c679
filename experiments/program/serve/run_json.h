#pragma once
#include <nlohmann/json.hpp>

#include "experiments/program/serve/run_reader.h"

namespace headroom::experiments {

/// How far a run is, for a list: counts, time left, tags, notes, pages; or what is wrong with it.
nlohmann::ordered_json run_json(const RunSnapshot& snapshot);

/// One trial.
nlohmann::ordered_json trial_json(const RunSnapshot& snapshot, const TrialState& trial);

/// How busy this machine is: runnable processes (mean of the last minute, null where it is not known), cores, and bytes
/// of memory (0 where the system does not say).
nlohmann::ordered_json machine_json();

/// The text of JSON; bytes that are no UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace headroom::experiments
