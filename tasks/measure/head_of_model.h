#pragma once
#include "tasks/measure/head_source.h"

namespace headroom::tasks {

/// The head that a source of files names: the rows of its queries and of the keys that serve it, biases as a last
/// column, what they are normed by, its logit scale, its turns (base, scaling and pairing) unless they are ignored. Throws
/// Error when there is no such layer or head, or its logits are more than that: ALiBi, low-rank factors.
HeadMaps head_of_model(StudiedModel& model, const HeadSource& source);

/// What that head reads of span `seed` of the source's text: the input of its layer's attention, after the norm, as the
/// layers below make it in f32: (D, length), f64. Layers above are not run.
engine::Tensor layer_inputs(StudiedModel& model, const HeadSource& source, int64_t length, uint64_t seed);

}  // namespace headroom::tasks
