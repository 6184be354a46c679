#pragma once
#include <string>
#include <vector>

namespace headroom::experiments {

/// A file of the live view, as it is sent.
struct LiveAsset {
  std::string name, type, text;
};

/// The page, the style sheet and the scripts of assets/, which are part of the program.
const std::vector<LiveAsset>& live_assets();

}  // namespace headroom::experiments
