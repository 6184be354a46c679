#pragma once
#include "tasks/measure/head_source.h"

namespace headroom::tasks {

/// The head that a source of files names: its query rows and the key rows that serve it, biases as a last column, their
/// norms, its logit scale, and its turns (base, scaling and pairing) unless ignored. Throws Error if there is no such
/// layer or head, or if its logits need more than that: ALiBi, low-rank factors.
HeadMaps head_of_model(StudiedModel& model, const HeadSource& source);

/// That head's input for span `seed` of the source's text: its layer's attention input after the norm, computed in f32
/// by the layers below: (D, length), f64. Does not run the layers above.
engine::Tensor layer_inputs(StudiedModel& model, const HeadSource& source, int64_t length, uint64_t seed);

}  // namespace headroom::tasks
