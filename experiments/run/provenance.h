#pragma once
#include <map>
#include <string>

namespace headroom::experiments {

/// "0.1.0".
std::string version();
/// What a result depends on beside its config: version, compiler, CPU, instruction set, threads, libraries.
std::map<std::string, std::string> provenance();

}  // namespace headroom::experiments
