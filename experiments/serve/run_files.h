#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/stored_runs.h"

namespace headroom::experiments {

/// A file beside the stores that a browser may have.
struct ServedFile {
  std::string type, bytes;
};

/// The HTML files of a run's folder: reports, and what `headroom probe` wrote there. The report first.
std::vector<std::string> pages_of(const StoredRun& run);

/// The HTML files of the folder of all runs, but for its index.
std::vector<std::string> pages_in(const std::filesystem::path& out);

/// A file that stands in `folder` itself under this name: HTML, SVG, CSV, JSON or TOML, never a store, weights, or
/// anything that a link leads to outside `out`. None when there is no such file.
std::optional<ServedFile> served_file(const std::filesystem::path& out, const std::filesystem::path& folder,
                                      const std::string& name);

}  // namespace headroom::experiments
