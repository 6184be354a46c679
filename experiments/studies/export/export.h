#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "experiments/studies/export/stored_trials.h"
#include "experiments/studies/pages/csv.h"

namespace headroom::experiments {

/// Takes the next piece of a text.
using TextSink = std::function<void(std::string_view)>;

/// One row per number, RFC 4180: study, profile, config, seed, trial, status, step, split, metric, value. `split` is
/// train or validation along the training, at `step` updates; test and validation_judged of the weights that are
/// judged; or trial, for parameters, flops and seconds. Ordered by (study, profile, config, seed, step, split, metric).
/// Clock::left_out leaves the seconds out: equal results give equal bytes.
void export_csv(const StoredTrials& trials, Clock clock, const TextSink& out);

/// A list of trials with their whole config, in the same order; numbers that are not finite are null.
void export_json(const StoredTrials& trials, Clock clock, const TextSink& out);

/// Writes FOLDER/STUDY/PROFILE/TRIAL/events.out.tfevents.0.headroom for each trial: its history, and its scores at its
/// last step, as scalars "SPLIT/METRIC". Returns how many. Every wall time is 0, because no time is kept along a
/// trial: use the step axis. Throws Error when a file cannot be written.
size_t export_tensorboard(const StoredTrials& trials, const std::filesystem::path& folder);

/// Writes FOLDER/wandb/offline-run-START-ID/run-ID.wandb for each trial, a run that `wandb sync` uploads: config, a
/// line of history per step, the latest values and the scores as its summary, tags and notes of its study's run, exit
/// code 1 where it failed. The project is `project`, or else the study; the group is the profile. IDs are made of
/// study, profile and trial: to sync an export again changes the same runs. Folders of earlier exports of the same
/// trial are replaced. Returns how many. Throws Error when a file cannot be written.
size_t export_wandb(const StoredTrials& trials, const std::filesystem::path& folder, const std::string& project);

}  // namespace headroom::experiments
