#pragma once
#include "experiments/studies/toml/schema.h"

namespace headroom::experiments {

/// Every key of a study file, collected from the binders.
const Schema& study_schema();

}  // namespace headroom::experiments
