#pragma once
#include <string>

#include "experiments/studies/toml/value.h"

namespace headroom::experiments {

/// A file's name from the folder of the study file that names it, else, where there is no such file, from the working
/// folder, as is one that --set names.
std::string beside(const Place& place, const std::string& file);

}  // namespace headroom::experiments
