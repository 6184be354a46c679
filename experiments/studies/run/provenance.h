#pragma once
#include <map>
#include <string>

namespace headroom::experiments {

/// What a result depends on beside its config: version and commit, compiler, CPU, instruction set, threads, libraries.
std::map<std::string, std::string> provenance();

}  // namespace headroom::experiments
