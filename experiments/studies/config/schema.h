#pragma once
#include "experiments/studies/toml/schema.h"

namespace headroom::experiments {

/// Every key of a study file, as the binders read them.
const Schema& study_schema();

}  // namespace headroom::experiments
