#pragma once
#include <functional>
#include <map>
#include <string>

#include "models/checkpoints/model_edit.h"
#include "tasks/measure/language_model.h"

namespace headroom::tasks {

/// The mean square of each input of a model's matrices on texts: f64 (in), by our Transformer's name of the matrix. It
/// weighs a column's rounding. The model is the base's with the edit; `progress` is told layers. Throws Error for no
/// text, a classifier, and naming a matrix whose inputs are not finite.
std::map<std::string, Tensor> input_squares(const models::ModelFiles& base, const models::ModelEdit& edit,
                                            const TokenBatch& texts,
                                            const std::function<void(int64_t done, int64_t all)>& progress = {});

}  // namespace headroom::tasks
