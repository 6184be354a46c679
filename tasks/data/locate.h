#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "engine/exception.h"
#include "tasks/data/roots.h"

namespace headroom::tasks {

/// Folders that hold data sets, in the order in which they are searched: the given one's data/, then the cache.
std::vector<std::filesystem::path> data_folders(const DataRoots& roots);

/// $XDG_CACHE_HOME/headroom, else ~/.cache/headroom; empty where neither variable is set.
std::filesystem::path default_cache();

/// `given` (--data), else HEADROOM_DATA, and the default cache. Throws Error when `given` is no folder; that of the
/// variable may be missing, as not every study needs data.
DataRoots data_roots(const std::string& given);

/// The file `name` ("tinyshakespeare/input.txt": data set, then file) in the first folder that has it. Throws Error
/// naming the file, the folders that were searched, and the command that fetches the data set.
std::filesystem::path find_data(const DataRoots& roots, const std::string& name);

/// A trained model that is in none of the places where it may be.
class MissingModel : public Error {
 public:
  using Error::Error;
};

/// A trained model, a file or a folder: `name` as a path, else below models/ of the given folder, then of the cache.
/// Throws MissingModel naming the places that were searched.
std::filesystem::path find_model(const DataRoots& roots, const std::string& name);

/// What a command line names: `name` where that is a path that exists, else the file or folder of that name below
/// models/ or data/ of HEADROOM_DATA, or in the cache; `name` again where there is none, so that errors name what was
/// given.
std::string named_model(const std::string& name);
std::string named_text(const std::string& name);

}  // namespace headroom::tasks
