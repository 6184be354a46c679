#pragma once
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/store.h"

namespace headroom::experiments {

/// Restores weights' hashes of trained heads from the store. Trials on such a head have the SHA-256 of its weights in
/// their config, and so in their id. If that file is missing (an imported run, a deleted file), uses the hash in
/// finished trials of the same head, the last one to end if they differ. Keeps stored trials findable: their ids depend
/// on this, and change here. Nothing new can be computed without the weights. If the weights exist, or the store knows
/// none, the study stays as it is.
void find_known_heads(Study& study, const RunStore& store);

}  // namespace headroom::experiments
