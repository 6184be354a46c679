#pragma once
#include <memory>
#include <string>

#include "experiments/program/serve/http_server.h"
#include "experiments/program/serve/run_reader.h"

namespace headroom::experiments {

/// A stream of server-sent events named "state", with JSON that says how all runs are, whenever that has changed.
HttpAnswer index_stream(const std::shared_ptr<RunReaders>& readers);

/// The same of one run: at first all its trials, then those that have changed, and the live curves that have grown.
HttpAnswer run_stream(const std::shared_ptr<RunReaders>& readers, const std::string& study, const std::string& profile);

/// What the first event of index_stream() holds.
std::string index_state(RunReaders& readers);

}  // namespace headroom::experiments
