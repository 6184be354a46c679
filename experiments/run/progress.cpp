#include "experiments/run/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace headroom::experiments {
namespace {

constexpr double redraw_seconds = 0.1, log_seconds = 5, event_seconds = 1;
constexpr int bar_cells = 28;

/// A bar in eighths of a character.
std::string bar(double fraction) {
  static const char* const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * bar_cells * 8);
  std::string out;
  for (int i = 0; i < filled / 8; ++i) out += "█";
  out += eighths[filled % 8];
  out.append(static_cast<size_t>(bar_cells - (filled + 7) / 8), ' ');
  return "[" + out + "]";
}

/// The first `columns` characters of UTF-8 text.
std::string clip(const std::string& text, int columns) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool starts_character = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (starts_character && columns-- == 0) break;
  }
  return text.substr(0, at);
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool wants_colours() {
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: any text that is not empty
  return !no_color || no_color[0] == 0;
}

void emit(const nlohmann::json& event) {
  const std::string line = event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::fprintf(stdout, "%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(std::max(seconds, 0.0)));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

Progress::Progress(ProgressScope scope, ProgressOutput output)
    : scope_(std::move(scope)),
      output_(output),
      on_terminal_(output == ProgressOutput::text && isatty(STDERR_FILENO) != 0),
      has_colours_(on_terminal_ && wants_colours()),
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

double Progress::elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

void Progress::update(int worker, const Step& step) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(worker);
  if (index >= workers_.size()) workers_.resize(index + 1);
  Worker& w = workers_[index];
  if (w.now.trial != step.trial) w.from = step.step;
  w.now = step;
  latest_ = index;
  draw(false);
}

void Progress::finish_trial(int worker, const std::string& label, const TrialRecord& trial, double cost) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(worker);
  if (index < workers_.size()) {
    const Worker& w = workers_[index];
    trained_ += cost * (1 - static_cast<double>(w.from) / static_cast<double>(std::max<int64_t>(w.now.steps, 1)));
    workers_[index] = {};
  }
  ended_ += cost;
  ++done_;
  const bool is_finished = trial.status == TrialStatus::finished;
  const std::string name = trial.series.empty() ? label : trial.series + ": " + label;
  if (output_ == ProgressOutput::events) {
    emit({{"event", "trial"},
          {"trial", trial.id},
          {"series", trial.series},
          {"label", label},
          {"status", is_finished ? "finished" : "failed"},
          {"message", trial.message},
          {"steps", trial.steps},
          {"validation", trial.validation},
          {"test", trial.test},
          {"seconds", trial.seconds},
          {"done", done_},
          {"trials", scope_.total}});
  } else if (!is_finished) {
    print(coloured(fmt::format("trial {} ({}) {}; the others go on", trial.id.substr(0, 8), name, trial.message)));
  } else if (on_terminal_) {
    const auto metric = trial.test.find(scope_.metric);
    const std::string value =
        metric == trial.test.end() ? "" : fmt::format("   {} {:.4g}", scope_.metric, metric->second);
    print(fmt::format("{}{}   {}", name, value, clock_text(trial.seconds)));
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
  else print(line);
}

void Progress::print(const std::string& line) {
  erase();
  std::fprintf(stderr, "%s\n", line.c_str());
}

std::string Progress::coloured(const std::string& text) const {
  return has_colours_ ? "\x1b[31m" + text + "\x1b[0m" : text;
}

void Progress::erase() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

std::string Progress::summary() const {
  double trained = trained_, reached = ended_;
  for (const auto& [now, from] : workers_) {
    const double one = now.cost / static_cast<double>(std::max<int64_t>(now.steps, 1));
    trained += one * static_cast<double>(now.step - from);
    reached += one * static_cast<double>(now.step);
  }
  std::string line = fmt::format("{}/{}", done_, scope_.total);
  if (latest_ < workers_.size() && !workers_[latest_].now.trial.empty()) {
    const Step& step = workers_[latest_].now;
    line += fmt::format("   {}   step {}/{}", step.label, step.step, step.steps);
    if (std::isfinite(step.loss)) line += fmt::format("   loss {:.4g}", step.loss);
  }
  const double so_far = elapsed();
  if (trained > 0 && so_far > 0)
    line += fmt::format("   {:.3g} GFLOP/s   {} left, {} so far", trained / so_far / 1e9,
                        clock_text(so_far * std::max(scope_.cost - reached, 0.0) / trained), clock_text(so_far));
  if (!on_terminal_) return line;
  const double before = static_cast<double>(done_) / static_cast<double>(std::max<int64_t>(scope_.total, 1));
  return bar(scope_.cost > 0 ? reached / scope_.cost : before) + " " + line;
}

void Progress::draw(bool now) {
  if (output_ == ProgressOutput::none) return;
  const Clock::time_point time = Clock::now();
  const double since = std::chrono::duration<double>(time - last_).count();
  const double wanted = on_terminal_ ? redraw_seconds : output_ == ProgressOutput::events ? event_seconds : log_seconds;
  if (!now && since < wanted) return;
  last_ = time;
  if (output_ == ProgressOutput::events) {
    const Step& step = workers_[latest_].now;
    nlohmann::json event{{"event", "progress"}, {"trial", step.trial}, {"label", step.label},   {"step", step.step},
                         {"steps", step.steps}, {"done", done_},       {"trials", scope_.total}};
    if (std::isfinite(step.loss)) event["loss"] = step.loss;
    return emit(event);
  }
  const std::string line = summary();
  if (!on_terminal_) {
    std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  std::fprintf(stderr, "\r%s\x1b[K", clip(line, terminal_columns() - 1).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace headroom::experiments
