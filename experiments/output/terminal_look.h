#pragma once

namespace headroom::experiments {

/// How text may look where a stream goes.
struct TerminalLook {
  int columns = 0;  ///< of its lines; 0 where it is no terminal
  bool has_colours = false;
  bool is_verbose = false;  ///< with what is left out for most readers, such as p-values
};

/// How text may look in an open file (STDOUT_FILENO): in colours on a terminal unless NO_COLOR is set.
TerminalLook look_of(int descriptor);

}  // namespace headroom::experiments
