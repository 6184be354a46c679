#pragma once
#include <string>

#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

/// A file's name from the folder of the study file that names it, else, where there is no such file, from the working
/// folder, as is one that --set names.
std::string beside(const Place& place, const std::string& file);

/// The value `path` of a key that may name a file or something else: from the study file's folder where there is such a
/// file, else as it is.
std::string beside_study(const Reader& in, const std::string& key, const std::string& path);

}  // namespace headroom::experiments
