#pragma once
#include <filesystem>
#include <string>

#include "experiments/program/serve/http_server.h"
#include "experiments/studies/run/stored_runs.h"

namespace headroom::experiments {

/// Carries out what a page asks of a run, in JSON: `note` {"add": text} or {"remove": id}, `tag` {"add": tag} or
/// {"remove": tag}, `delete` {"run": "STUDY/PROFILE"}, which must be that run's name. Status 400 when the request is
/// not as wanted, 409 when it cannot be done.
HttpAnswer change_run(const StoredRun& run, const std::filesystem::path& out, const std::string& what,
                      const std::string& body);

}  // namespace headroom::experiments
