#include "experiments/studies/run/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "experiments/output/number.h"
#include "experiments/output/terminal_look.h"
#include "experiments/output/text.h"

namespace headroom::experiments {
namespace {

constexpr double redraw_seconds = 0.1, log_seconds = 5, event_seconds = 1;
constexpr int widest_log_line = 0;  // no bar, nothing cut
constexpr int most_cells = 28, fewest_cells = 4, wanted_cells = 6;

void emit(const nlohmann::json& event) {
  const std::string line = event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::fprintf(stdout, "%s\n", line.c_str());
  std::fflush(stdout);
}

size_t digit_count(int64_t number) { return fmt::formatted_size("{}", number); }

/// A bar in eighths of a character.
std::string bar(double fraction, int cells) {
  static const char* const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * cells * 8);
  std::string out;
  for (int i = 0; i < filled / 8; ++i) out += "█";
  out += eighths[filled % 8];
  out.append(static_cast<size_t>(cells - (filled + 7) / 8), ' ');
  return "[" + out + "]";
}

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(std::max(seconds, 0.0)));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string progress_text(const ProgressText& at, int columns) {
  constexpr int gap = 3;
  const std::string between(gap, ' ');
  // Numbers have a fixed width, so that the line keeps still.
  std::string first = at.left ? fmt::format("{:>5} left", clock_text(*at.left)) : "";
  if (at.left && at.most) first += fmt::format(", at most {}", clock_text(*at.most));
  if (at.left) first += between;
  first += fmt::format("{:>{}}/{}", at.done, digit_count(at.total), at.total);
  std::string always;
  if (std::isfinite(at.shown.loss)) always += between + fmt::format("loss {:<9}", fmt::format("{:.4g}", at.shown.loss));
  if (at.gflops) always += between + fmt::format("{:>4} GFLOP/s", fmt::format("{:.3g}", *at.gflops));
  std::vector<std::string> optional;
  if (!at.shown.label.empty()) {
    optional.push_back(fmt::format("step {:>{}}/{}", at.shown.step, digit_count(at.shown.steps), at.shown.steps));
    optional.push_back(one_line(at.shown.label));
  }
  if (at.left) optional.push_back(clock_text(at.so_far) + " so far");
  int room = columns - static_cast<int>(display_width(first + always));
  constexpr int frame = gap + 2;  // of a bar
  std::string rest;
  for (const std::string& part : optional) {
    const int wanted = gap + static_cast<int>(display_width(part));
    if (columns > 0 && room - wanted < frame + wanted_cells) break;
    room -= wanted;
    rest += between + part;
  }
  const int cells = std::min(room - frame, most_cells);
  const std::string drawn = cells >= fewest_cells ? between + bar(at.fraction, cells) : "";
  const std::string line = first + drawn + always + rest;
  return columns > 0 ? clip(line, static_cast<size_t>(columns)) : line;
}

Progress::Progress(ProgressScope scope, ProgressOutput output)
    : scope_(std::move(scope)),
      output_(output),
      on_terminal_(output == ProgressOutput::text && isatty(STDERR_FILENO) != 0),
      has_colours_(on_terminal_ && look_of(STDERR_FILENO).has_colours),
      done_(scope_.done) {
  if (output_ == ProgressOutput::events)
    emit({{"event", "study"},
          {"study", scope_.study},
          {"profile", scope_.profile},
          {"trials", scope_.total},
          {"done", scope_.done},
          {"flops", scope_.cost}});
}

Progress::~Progress() { erase(); }

void Progress::update(int worker, const TrialStep& step) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(worker);
  if (index >= workers_.size()) workers_.resize(index + 1);
  Worker& w = workers_[index];
  if (w.now.trial != step.trial) w.from = step.step;
  w.now = step;
  latest_ = index;
  // Shows one trial until it ends: alternating between two would be unreadable.
  if (shown_ >= workers_.size() || workers_[shown_].now.trial.empty()) shown_ = index;
  draw(false);
}

void Progress::finish_trial(int worker, const TrialRecord& trial, double cost) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(worker);
  if (index < workers_.size()) {
    const Worker& w = workers_[index];
    trained_ += cost * (1 - static_cast<double>(w.from) / static_cast<double>(std::max<int64_t>(w.now.steps, 1)));
    workers_[index] = {};
  }
  ended_ += cost;
  ++done_;
  if (output_ == ProgressOutput::events) {
    emit({{"event", "trial"},
          {"trial", trial.id},
          {"series", trial.series},
          {"label", trial.label},
          {"status", name_of(trial.status)},
          {"message", trial.message},
          {"steps", trial.steps},
          {"validation", trial.validation},
          {"test", trial.test},
          {"seconds", trial.seconds},
          {"done", done_},
          {"trials", scope_.total}});
  } else if (trial.status != TrialStatus::finished) {
    print(fmt::format("{}trial {} ({}) {}; the others go on{}", has_colours_ ? "\x1b[31m" : "", trial.id.substr(0, 8),
                      one_line(trial.name()), one_line(trial.message), has_colours_ ? "\x1b[0m" : ""));
  } else if (on_terminal_) {
    const auto metric = trial.test.find(scope_.metric);
    const std::string value =
        metric == trial.test.end() ? "" : fmt::format("   {} {:.4g}", scope_.metric, metric->second);
    print(fmt::format("{}{}   {}", one_line(trial.name()), value, clock_text(trial.seconds)));
  }
  if (on_terminal_) draw(true);
}

void Progress::finish_elsewhere(double cost) {
  const std::lock_guard lock(mutex_);
  ended_ += cost;
  ++done_;
  if (on_terminal_) draw(true);
}

void Progress::say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (output_ == ProgressOutput::events) emit({{"event", "warning"}, {"message", line}});
  else print(clean(line));
}

void Progress::print(const std::string& line) {
  erase();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Progress::erase() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

ProgressText Progress::state() const {
  double trained = trained_, reached = ended_;
  for (const auto& [now, from] : workers_) {
    const double one = now.cost / static_cast<double>(std::max<int64_t>(now.steps, 1));
    trained += one * static_cast<double>(now.step - from);
    reached += one * static_cast<double>(now.step);
  }
  ProgressText at;
  at.done = done_;
  at.total = scope_.total;
  at.so_far = std::chrono::duration<double>(Clock::now() - begin_).count();
  if (shown_ < workers_.size()) at.shown = workers_[shown_].now;
  if (trained > 0 && at.so_far > 0) {
    at.gflops = trained / at.so_far / 1e9;
    at.left = at.so_far * std::max(scope_.cost - reached, 0.0) / trained;
    if (scope_.later > 0) at.most = *at.left + at.so_far * scope_.later / trained;
  }
  const double before = static_cast<double>(done_) / static_cast<double>(std::max<int64_t>(scope_.total, 1));
  at.fraction = scope_.cost > 0 ? reached / scope_.cost : before;
  return at;
}

void Progress::draw(bool now) {
  if (output_ == ProgressOutput::none) return;
  const Clock::time_point time = Clock::now();
  const double since = std::chrono::duration<double>(time - last_).count();
  const double wanted = on_terminal_ ? redraw_seconds : output_ == ProgressOutput::events ? event_seconds : log_seconds;
  if (!now && since < wanted) return;
  last_ = time;
  if (output_ == ProgressOutput::events) {
    const TrialStep& step = workers_[latest_].now;
    nlohmann::json event{{"event", "progress"}, {"trial", step.trial}, {"label", step.label},   {"step", step.step},
                         {"steps", step.steps}, {"done", done_},       {"trials", scope_.total}};
    if (std::isfinite(step.loss)) event["loss"] = step.loss;
    return emit(event);
  }
  if (!on_terminal_) {
    std::fprintf(stderr, "%s\n", progress_text(state(), widest_log_line).c_str());
    return;
  }
  std::fprintf(stderr, "\r%s\x1b[K", progress_text(state(), look_of(STDERR_FILENO).columns - 1).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace headroom::experiments
