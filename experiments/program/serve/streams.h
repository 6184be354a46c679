#pragma once
#include <memory>
#include <string>

#include "experiments/program/serve/http_server.h"
#include "experiments/program/serve/run_reader.h"

namespace headroom::experiments {

/// A stream of server-sent events named "state", with the state of all runs as JSON whenever it changes.
HttpAnswer index_stream(const std::shared_ptr<RunReaders>& readers);

/// The same for one run: first all its trials, then only changed ones, and live curves that have grown.
HttpAnswer run_stream(const std::shared_ptr<RunReaders>& readers, const std::string& study, const std::string& profile);

/// The content of index_stream()'s first event.
std::string index_state(RunReaders& readers);

}  // namespace headroom::experiments
