#include "experiments/output/page_assets.h"

#include <algorithm>

#include "engine/error.h"

namespace headroom::experiments {

std::string page_asset(const std::string& name) {
  const auto& all = page_assets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const PageAsset& one) { return one.name == name; });
  require(found != all.end(), "page_asset: the program holds no file {}", name);
  return "\n" + found->text;
}

}  // namespace headroom::experiments
