#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "experiments/program/serve/http_server.h"
#include "experiments/studies/run/stored_runs.h"

namespace headroom::experiments {

/// A file next to the stores that a browser may read.
struct ServedFile {
  std::string type;
  std::shared_ptr<FileToSend> file;  ///< null if there is none
};

/// The HTML files of a run's folder: reports and pages from `headroom probe`. The report comes first.
std::vector<std::string> pages_of(const StoredRun& run);

/// The HTML files of the folder of all runs, except its index.
std::vector<std::string> pages_in(const std::filesystem::path& out);

/// A regular file directly in `folder`: HTML, SVG, CSV, JSON or TOML, never a store or weights, and never through a
/// link of that name. `folder` may be reached by links, but is under `out`.
ServedFile served_file(const std::filesystem::path& out, const std::filesystem::path& folder, const std::string& name);

}  // namespace headroom::experiments
