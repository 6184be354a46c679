#pragma once
#include <string>

#include "experiments/studies/results.h"

namespace headroom::experiments {

// Records of a TensorBoard event file; `wall_time` is in seconds since 1970.

/// The first of every file: Event { file_version = "brain.Event:2" }.
std::string version_record(double wall_time);
/// Event { session_log { status = START } }: readers forget what other event files of the folder have.
std::string start_record(double wall_time);
/// A point of a curve as the scalar "SPLIT/METRIC": Event { step, summary { value { tag, simple_value } } }.
std::string scalar_record(const HistoryPoint& point, double wall_time);

/// The folder of a trial's event files, under those of study and profile: its words with a part of the id, which keeps
/// apart what reads alike ("1e-3" and "1e3").
std::string event_folder(const std::string& words, const std::string& id);

}  // namespace headroom::experiments
