#pragma once
#include <filesystem>

namespace headroom::tasks {

/// Folders to search for data sets, in this order. An empty path counts as absent.
struct DataRoots {
  std::filesystem::path given;  ///< --data or HEADROOM_DATA: a folder that holds data/ and models/
  std::filesystem::path cache;  ///< where `headroom data fetch` writes
};

}  // namespace headroom::tasks
