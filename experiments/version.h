#pragma once
#include <string>

namespace headroom::experiments {

/// "0.1.0".
std::string version();
/// The version with the commit that the program was built from: "0.1.0 (abc1234)", "0.1.0 (abc1234+dirty)" when files
/// of its sources had changed since, "0.1.0" when it was built from a tarball.
std::string version_text();

}  // namespace headroom::experiments
