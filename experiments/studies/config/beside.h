#pragma once
#include <string>

#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

/// Resolves a file's name against the folder of the study file that names it; if there is no such file there, or --set
/// names it, against the working folder.
std::string beside(const Place& place, const std::string& file);

/// Resolves the value `path` of a key that may name a file or something else: against the study file's folder if such a
/// file exists there, else unchanged.
std::string beside_study(const Reader& in, const std::string& key, const std::string& path);

}  // namespace headroom::experiments
