#pragma once

namespace headroom::experiments {

/// How text may look where a stream goes.
struct TerminalLook {
  int columns = 0;  ///< of its lines; 0 where it is no terminal
  bool has_colours = false;
};

/// Of an open file (STDOUT_FILENO): colours where it is a terminal and NO_COLOR is not set.
TerminalLook look_of(int descriptor);

}  // namespace headroom::experiments
