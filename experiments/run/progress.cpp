#include "experiments/run/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace headroom::experiments {
namespace {

constexpr double redraw_seconds = 0.1, log_seconds = 5;
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

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(std::max(seconds, 0.0)));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

Progress::Progress(int64_t total, int64_t done, double cost, bool quiet)
    : total_(total), done_(done), cost_(cost), quiet_(quiet), on_terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { erase(); }

void Progress::update(int worker, const Step& step) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(worker);
  if (index >= workers_.size()) workers_.resize(index + 1);
  workers_[index] = step;
  latest_ = index;
  draw(false);
}

void Progress::finish_trial(int worker, double cost) {
  const std::lock_guard lock(mutex_);
  if (static_cast<size_t>(worker) < workers_.size()) workers_[static_cast<size_t>(worker)].cost = 0;
  spent_ += cost;
  ++done_;
  if (on_terminal_) draw(true);
}

void Progress::say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  erase();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Progress::erase() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void Progress::draw(bool now) {
  const Clock::time_point time = Clock::now();
  const double since = std::chrono::duration<double>(time - last_).count();
  if (quiet_ || (!now && since < (on_terminal_ ? redraw_seconds : log_seconds))) return;
  last_ = time;
  double spent = spent_;
  for (const Step& step : workers_)
    spent += step.cost * static_cast<double>(step.step) / static_cast<double>(step.steps);
  const double so_far = std::chrono::duration<double>(time - begin_).count();
  const double left = spent > 0 ? so_far * (cost_ - spent) / spent : 0;
  const double known = total_ > 0 && cost_ <= 0 ? 1 : spent / cost_;
  std::string line = fmt::format("{}/{}", done_, total_);
  if (!workers_.empty()) {
    const Step& step = workers_[latest_];
    line += fmt::format("   {}   step {}/{}   loss {:.4g}", step.label, step.step, step.steps, step.loss);
  }
  line += spent > 0 ? fmt::format("   {} left, {} so far", clock_text(left), clock_text(so_far)) : "";
  if (on_terminal_) {
    const double before = 1 - static_cast<double>(total_ - done_) / static_cast<double>(std::max<int64_t>(total_, 1));
    const std::string text =
        clip(bar(std::max(known, cost_ > 0 ? known : before)) + " " + line, terminal_columns() - 1);
    std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
    std::fflush(stderr);
    drawn_ = true;
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

}  // namespace headroom::experiments
