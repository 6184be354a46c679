#pragma once
#include <string>

#include "experiments/program/command_line/arguments.h"

namespace headroom::experiments {

/// headroom(1), in roff: every command, the variables of the environment, and exit statuses.
std::string program_page(const CommandDescription& program);

/// headroom-COMMAND(1), in roff. Commands below it, as those of `data`, stand on the same page.
std::string command_page(const CommandDescription& command);

}  // namespace headroom::experiments
