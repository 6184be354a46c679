#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "engine/exception.h"

namespace headroom::tasks {

/// Folders to search for data sets, in this order. An empty path counts as absent.
struct DataRoots {
  std::filesystem::path given;  ///< --data or HEADROOM_DATA: a folder that holds data/ and models/
  std::filesystem::path cache;  ///< where `headroom data fetch` writes
};

/// Folders with data sets, in search order: the given folder's data/, then the cache.
std::vector<std::filesystem::path> data_folders(const DataRoots& roots);

/// $XDG_CACHE_HOME/headroom, else ~/.cache/headroom; empty if neither variable is set.
std::filesystem::path default_cache();

/// `given` (--data), else HEADROOM_DATA, and the default cache. Throws Error if `given` is not a folder;
/// HEADROOM_DATA's may be missing, since not every study needs data.
DataRoots data_roots(const std::string& given);

/// Finds the file `name` ("tinyshakespeare/input.txt": data set, then file) in the first folder that has it. Throws
/// Error naming the file, the folders searched, and the command that fetches the data set.
std::filesystem::path find_data(const DataRoots& roots, const std::string& name);

/// Thrown if a trained model is in none of its possible places.
class MissingModel : public Error {
 public:
  using Error::Error;
};

/// Finds a trained model, a file or a folder: `name` as a path, else below models/ of the given folder, then of the
/// cache. Throws MissingModel naming the places searched.
std::filesystem::path find_model(const DataRoots& roots, const std::string& name);

/// Resolves a name from the command line: `name` if it is an existing path, else the file or folder below models/ or
/// data/ of HEADROOM_DATA or the cache; else `name` itself, so that errors name what the user gave.
std::string named_model(const std::string& name);
std::string named_text(const std::string& name);

}  // namespace headroom::tasks
