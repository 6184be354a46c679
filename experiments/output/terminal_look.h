#pragma once

namespace headroom::experiments {

/// How text may look on a stream.
struct TerminalLook {
  int columns = 0;  ///< width of a line; 0 if it is no terminal
  bool has_colours = false;
  bool is_verbose = false;  ///< also shows details that most readers skip, such as p-values
};

/// The look for an open file (STDOUT_FILENO): coloured on a terminal unless NO_COLOR is set.
TerminalLook look_of(int descriptor);

}  // namespace headroom::experiments
