#include "experiments/output/terminal_look.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace headroom::experiments {

TerminalLook look_of(int descriptor) {
  if (isatty(descriptor) == 0) return {};
  constexpr int usual_columns = 80;
  winsize size{};
  const bool has_size = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: any non-empty text
  return {has_size ? size.ws_col : usual_columns, !no_color || no_color[0] == 0};
}

}  // namespace headroom::experiments
