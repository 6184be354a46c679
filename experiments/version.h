#pragma once
#include <string>

namespace headroom::experiments {

/// "0.2.0".
std::string version();
/// The version with the commit that the program was built from: "0.2.0 (abc1234)", "0.2.0 (abc1234+dirty)" when files
/// of its sources had changed since, "0.2.0" when neither git nor an archive that git made names one.
std::string version_text();

}  // namespace headroom::experiments
