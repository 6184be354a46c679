#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/status_text.h"

namespace headroom::experiments {
namespace {

using WatchClock = std::chrono::steady_clock;

constexpr int stopped_by_user = 130;          ///< 128 + SIGINT, as shells count
constexpr std::chrono::seconds settled{3};    ///< a run that has a further round begins it sooner
constexpr std::chrono::seconds forsaken{60};  ///< nobody has trained for so long: nobody will
std::atomic<bool> watch_is_to_end{false};

/// The size of the terminal behind standard output.
winsize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size.ws_col = 80;
  if (size.ws_row == 0) size.ws_row = 24;
  return size;
}

/// Text on a terminal that is written over. No line of it wraps, so that as many lines go as came.
class Screen {
 public:
  void show(const std::string& text) {
    const winsize size = terminal_size();
    std::string shown;
    size_t lines = 0;
    for (size_t at = 0; at < text.size() && lines + 1 < size.ws_row; ++lines) {
      const size_t end = std::min(text.find('\n', at), text.size());
      shown += clip(text.substr(at, end - at), size.ws_col - 1U) + "\033[K\n";
      at = end + 1;
    }
    write_output((lines_ > 0 ? fmt::format("\033[{}A", lines_) : "") + shown + "\033[J");
    lines_ = lines;
  }

 private:
  size_t lines_ = 0;
};

/// What a look at all runs found.
struct Look {
  std::string text;                          ///< of all, for a terminal
  std::map<std::string, std::string> lines;  ///< of each run
  bool is_anyone_training = false, is_all_complete = true;
};

Look look_at(const std::vector<StoredRun>& runs) {
  Look look;
  for (const StoredRun& run : runs) {
    try {
      const RunStatus status = read_status(run);
      look.lines[run.name()] = status_line(status);
      look.text += status_heading(status) + status_details(status);
      look.is_anyone_training = look.is_anyone_training || status.state.running > 0;
      look.is_all_complete = look.is_all_complete && status.state.is_complete();
    } catch (const Error& error) {
      look.lines[run.name()] = error.what();
      look.text += std::string(error.what()) + "\n";
      look.is_all_complete = false;
    }
  }
  return look;
}

/// Waits, or returns at once when the user wants it to end.
void wait_between(std::chrono::duration<double> time) {
  const auto end = WatchClock::now() + time;
  while (!watch_is_to_end && WatchClock::now() < end)
    std::this_thread::sleep_for(
        std::min<std::chrono::duration<double>>(end - WatchClock::now(), std::chrono::milliseconds(50)));
}

}  // namespace

int watch_runs(const std::vector<std::string>& studies, const std::string& out, double every_seconds) {
  struct sigaction action {};
  action.sa_handler = [](int) { watch_is_to_end = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  Screen screen;
  std::map<std::string, std::string> printed;
  auto last_training = WatchClock::now();
  bool has_seen_training = false;
  while (true) {
    const Look look = look_at(runs_of(studies, out));
    if (is_terminal) screen.show(look.text);
    for (const auto& [name, line] : look.lines)
      if (!is_terminal && printed[name] != line) write_output((printed[name] = line) + "\n");
    if (watch_is_to_end) return stopped_by_user;
    const auto now = WatchClock::now();
    if (look.is_anyone_training) {
      last_training = now;
      has_seen_training = true;
    }
    const auto idle = now - last_training;
    if (look.is_all_complete && !look.is_anyone_training && (!has_seen_training || idle >= settled)) return 0;
    if (idle >= forsaken) {
      write_note("headroom: trials are left, and nobody has trained them for a minute");
      return 1;
    }
    wait_between(std::chrono::duration<double>(every_seconds));
    if (watch_is_to_end) return stopped_by_user;
  }
}

}  // namespace headroom::experiments
