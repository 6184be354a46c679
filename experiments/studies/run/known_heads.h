#pragma once
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/store.h"

namespace headroom::experiments {

/// Trials on a head of a trained model have the SHA-256 of its weights in their config, and so in their id. Where that
/// file is not there (the run was imported, or the file deleted), it is taken from the store: the trials of the same
/// head that it knows as finished say which weights they were computed from, the one that ended last where they differ.
/// So that what is stored is found again; nothing new can be computed without the weights. Changes the ids of those
/// trials; where the weights are there, or the store knows none, the study stays as it is.
void find_known_heads(Study& study, const RunStore& store);

}  // namespace headroom::experiments
