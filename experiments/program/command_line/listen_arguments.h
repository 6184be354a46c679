#pragma once
#include <string>

#include "experiments/program/command_line/arguments.h"

namespace headroom::experiments {

/// Where a command's server listens.
struct ListenArguments {
  std::string host = "127.0.0.1";
  int port = 0;
};

/// Adds --port and --host; `others`: what those can do who reach an address that is not this machine's own.
inline void add_listen_options(Command command, ListenArguments& arguments, const std::string& others) {
  command.option("--port", arguments.port, "port to listen on; 0: any that is free").range(0, 65535);
  command.option("--host", arguments.host,
                 "address to listen on; on any but this machine's own (127.0.0.1, ::1) others can " + others);
}

}  // namespace headroom::experiments
