#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/output/units.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/run_state.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "experiments/studies/run/stored_runs.h"
#include "experiments/studies/toml/complaints.h"

namespace headroom::experiments {
namespace {

struct StatusArguments {
  std::vector<std::string> studies;
  std::string out = "runs";
  bool is_json = false, watches = false;
  double every = 2;
};

/// A run's state and the leases of its store.
struct RunStatus {
  StoredRun run;
  RunState state;
  std::vector<Lease> leases;
};

/// The runs under --out of these studies (ids, or files "….toml"), or all. Throws Error when there is none.
std::vector<StoredRun> runs_of(const StatusArguments& arguments) {
  std::set<std::string> ids;
  for (const std::string& study : arguments.studies)
    ids.insert(std::filesystem::path(study).extension() == ".toml" ? load_study(study).head.id : study);
  std::vector<StoredRun> runs = stored_runs(arguments.out);
  if (!ids.empty()) std::erase_if(runs, [&](const StoredRun& run) { return !ids.count(run.study); });
  require(!runs.empty(), "{}: there is no run store{}", arguments.out,
          ids.empty() ? "" : fmt::format(" of {}", fmt::join(ids, ", ")));
  return runs;
}

RunStatus read_status(const StoredRun& run) {
  const RunStore store(run.store(), RunStore::Access::read);
  say_faults(store);
  return {run, read_run_state(store), store.leases()};
}

size_t digits_in(int64_t number) { return fmt::formatted_size("{}", number); }

/// Formats a lease with fixed widths, labels padded to the widest, so that a watched line keeps still.
std::string lease_line(const Lease& lease, size_t label_width) {
  const double silence = std::max(0.0, wall_clock() - lease.heartbeat);
  const std::string loss = std::isfinite(lease.loss) ? fmt::format("{:.4g}", lease.loss) : "–";
  return fmt::format(
      "  {}{}   step {:>{}}/{}   loss {}{}   process {}, {}\n", one_line(lease.label),
      std::string(label_width - display_width(lease.label), ' '), lease.step, digits_in(lease.steps), lease.steps, loss,
      std::string(9 - std::min<size_t>(display_width(loss), 9), ' '), lease.owner.pid,
      is_alive(lease) ? fmt::format("seen {:>2.0f} s ago", silence) : "gone: the next run goes on from here");
}

/// Counts training processes by host; "" for leases with unknown owners.
std::map<std::string, int64_t> workers_by_host(const RunStatus& status) {
  std::map<std::string, std::set<std::string>> names;
  for (const Lease& lease : status.leases)
    if (is_alive(lease)) names[lease.owner.machine.substr(0, lease.owner.machine.find(' '))].insert(lease.owner.name);
  std::map<std::string, int64_t> workers;
  for (const auto& [host, owners] : names) workers[host] = std::ssize(owners);
  return workers;
}

std::string round_text(const RunState& s) {
  if (s.most_rounds > 1) return fmt::format(", round {} of at most {}", s.round, s.most_rounds);
  return s.round > 1 ? fmt::format(", round {}", s.round) : "";
}

std::string counts_text(const RunState& s) {
  const size_t width = digits_in(s.planned());  // of all: what is watched keeps still
  return fmt::format("{:>{}} of {} trials finished, {:>{}} failed, {:>{}} running, {:>{}} to do{}", s.finished, width,
                     s.planned(), s.failed, width, s.running, width, s.to_do(), width, round_text(s));
}

std::string left_text(const RunState& s) {
  if (s.seconds_left && s.most_trials > s.planned())
    return fmt::format("about {} left in this round, {} if all rounds are needed", seconds_text(*s.seconds_left),
                       seconds_text(*s.most_seconds_left));
  if (s.seconds_left) return fmt::format("about {} left", seconds_text(*s.seconds_left));
  if (s.is_complete()) return "complete";
  return s.running > 0 ? "time left not known yet" : "nobody is training it";
}

/// "wide · quick   12 of 27 trials finished, 0 failed, 2 running, 13 to do · about 4 min left".
std::string status_line(const RunStatus& status) {
  return fmt::format("{} · {}   {}{}", status.run.study, status.run.profile, counts_text(status.state),
                     status.state.seconds_left ? " · " + left_text(status.state) : "");
}

/// Tags and notes, a line each, then a line for every trial in training.
std::string status_details(const RunStatus& status) {
  std::string text;
  if (!status.state.tags.empty())
    text += fmt::format("  tags: {}\n", clean(fmt::format("{}", fmt::join(status.state.tags, ", "))));
  for (const Note& note : status.state.notes) {
    const std::string words = clean(note.text);
    text += fmt::format("  note of {}: {}{}\n", note.at.substr(0, 10), words.substr(0, words.find('\n')),
                        words.find('\n') == std::string::npos ? "" : " …");
  }
  if (const auto workers = workers_by_host(status); is_shared(status.run.folder) && !workers.empty()) {
    std::vector<std::string> hosts;
    for (const auto& [host, count] : workers) hosts.push_back(fmt::format("{} on {}", count, clean(host)));
    text += fmt::format("  workers: {}\n", fmt::join(hosts, ", "));
  }
  size_t width = 0;
  for (const Lease& lease : status.leases) width = std::max(width, display_width(lease.label));
  for (const Lease& lease : status.leases) text += lease_line(lease, width);
  return text;
}

nlohmann::json status_json(const RunStatus& status) {
  const RunState& s = status.state;
  nlohmann::json leases = nlohmann::json::array(), notes = nlohmann::json::array();
  for (const Lease& lease : status.leases)
    leases.push_back({{"trial", lease.trial},
                      {"label", lease.label},
                      {"step", lease.step},
                      {"steps", lease.steps},
                      {"loss", lease.loss},
                      {"process", lease.owner.pid},
                      {"alive", is_alive(lease)}});
  for (const Note& note : s.notes) notes.push_back({{"at", note.at}, {"text", note.text}});
  nlohmann::json json = {{"study", status.run.study},
                         {"profile", status.run.profile},
                         {"trials", s.planned()},
                         {"finished", s.finished},
                         {"failed", s.failed},
                         {"running", s.running},
                         {"remaining", s.to_do()},
                         {"round", s.round},
                         {"most_rounds", s.most_rounds},
                         {"most_trials", s.most_trials},
                         {"tags", s.tags},
                         {"notes", notes},
                         {"leases", leases},
                         {"workers", workers_by_host(status)}};
  if (s.seconds_left) json["seconds_left"] = *s.seconds_left;
  if (s.most_seconds_left) json["most_seconds_left"] = *s.most_seconds_left;
  return json;
}

void show_status(const StatusArguments& arguments) {
  std::vector<std::string> problems;  // a damaged store hides no other
  for (const StoredRun& run : runs_of(arguments)) {
    try {
      const RunStatus status = read_status(run);
      if (!arguments.is_json) print_text("{}\n{}", status_line(status), status_details(status));
      else print_json(status_json(status));
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

using WatchClock = std::chrono::steady_clock;

constexpr std::chrono::seconds settled{3};    ///< a run that has a further round begins it sooner
constexpr std::chrono::seconds forsaken{60};  ///< after this silence, nobody is expected to go on training

/// The size of the terminal behind standard output.
winsize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size.ws_col = 80;
  if (size.ws_row == 0) size.ws_row = 24;
  return size;
}

/// Text that is redrawn on a terminal. No line wraps, so that exactly the printed lines are erased.
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

/// The result of looking at all runs.
struct Look {
  std::string text;                          ///< of all, for a terminal
  std::map<std::string, std::string> lines;  ///< of each run
  bool is_anyone_training = false, is_all_complete = true;
};

/// `lines`: the lines of each run for keep_lines().
Look look_at(const std::vector<StoredRun>& runs, std::map<std::string, std::vector<std::string>>& lines) {
  Look look;
  for (const StoredRun& run : runs) {
    try {
      RunStatus status = read_status(run);
      keep_lines(status.leases, lines[run.name()]);
      const RunState& state = status.state;
      look.lines[run.name()] = status_line(status);
      // Two lines, with the time left in the first: a narrow terminal cuts the end of a line.
      look.text += fmt::format("{} · {}   {}\n  {}\n{}", run.study, run.profile, left_text(state), counts_text(state),
                               status_details(status));
      look.is_anyone_training = look.is_anyone_training || state.running > 0;
      look.is_all_complete = look.is_all_complete && state.is_complete();
    } catch (const Error& error) {
      look.lines[run.name()] = error.what();
      look.text += std::string(error.what()) + "\n";
      look.is_all_complete = false;
    }
  }
  return look;
}

/// Waits, but returns at once if the user wants to stop.
void wait_between(std::chrono::duration<double> time, const std::atomic<bool>& ends) {
  const auto end = WatchClock::now() + time;
  while (!ends && WatchClock::now() < end)
    std::this_thread::sleep_for(
        std::min<std::chrono::duration<double>>(end - WatchClock::now(), std::chrono::milliseconds(50)));
}

/// Shows the runs repeatedly until each is complete, or none was trained for a minute. A terminal is redrawn; elsewhere
/// a run's line is printed when it changes. Throws Exit 1 if nobody trains the remaining trials, 130 after Ctrl-C.
/// Reports unreadable stores.
void watch_status(const StatusArguments& arguments) {
  const std::atomic<bool>& is_to_end = stop_on_signals();
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  Screen screen;
  std::map<std::string, std::string> printed;
  std::map<std::string, std::vector<std::string>> lines;
  auto last_training = WatchClock::now();
  bool has_seen_training = false;
  while (true) {
    const Look look = look_at(runs_of(arguments), lines);
    if (is_terminal) screen.show(look.text);
    for (const auto& [name, line] : look.lines)
      if (!is_terminal && printed[name] != line) write_output((printed[name] = line) + "\n");
    if (is_to_end) throw Exit{interrupted};
    if (look.is_anyone_training) last_training = WatchClock::now();
    has_seen_training = has_seen_training || look.is_anyone_training;
    const auto idle = WatchClock::now() - last_training;
    if (look.is_all_complete && !look.is_anyone_training && (!has_seen_training || idle >= settled)) return;
    if (idle >= forsaken) {
      write_note("headroom: trials are left, and nobody has trained them for a minute");
      throw Exit{1};
    }
    wait_between(std::chrono::duration<double>(arguments.every), is_to_end);
    if (is_to_end) throw Exit{interrupted};
  }
}

}  // namespace

void add_status_command(Command app) {
  const Command command = app.command("status", "show what is finished, running and left, also during a run");
  const auto a = std::make_shared<StatusArguments>();
  command.option("STUDY", a->studies, "ids or files of studies (default: all)");
  add_out_option(command, a->out);
  const Option json = command.flag("--json", a->is_json, "one JSON object per store");
  command.flag("--watch", a->watches, "refresh until the runs have ended").excludes(json);
  command.option("--every", a->every, "seconds between two looks").range(0.1, 3600.0);
  command.action([a] { a->watches ? watch_status(*a) : show_status(*a); });
}

}  // namespace headroom::experiments
