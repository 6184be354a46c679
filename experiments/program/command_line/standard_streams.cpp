#include "experiments/program/command_line/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/error.h"
#include "experiments/output/terminal_look.h"

namespace headroom::experiments {
namespace {

constexpr size_t most_input = size_t{1} << 27;  ///< endless input should not fill the memory
constexpr const char* lost = "standard output cannot be written to";

}  // namespace

void keep_standard_descriptors() {
  // In ascending order, as open() takes the lowest number. Write-only input and read-only output fail with EBADF.
  for (const auto& [descriptor, mode] :
       {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_RDWR}})
    if (fcntl(descriptor, F_GETFD) == -1) (void)open("/dev/null", mode);
}

std::string read_input() {
  std::string text;
  char part[1 << 16];
  for (;;) {
    const ssize_t count = read(STDIN_FILENO, part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    require(count >= 0, "standard input cannot be read: {}", std::strerror(errno));
    if (count == 0) return text;
    text.append(part, static_cast<size_t>(count));
    require(text.size() <= most_input, "standard input: more than {} bytes; give a file", most_input);
  }
}

void write_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail("{}: {}", lost, std::strerror(errno));
  flush_output();
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void write_note(const std::string& line) { std::fputs(clean(line + "\n").c_str(), stderr); }

void note_unchecked(const std::string& store, int64_t count) {
  if (count > 0)
    write_note(fmt::format(
        "headroom: {}: {} {} no checksum and cannot be checked (an older headroom wrote {}); 'headroom doctor STORE "
        "--repair' adds {}",
        store, count, count == 1 ? "trial has" : "trials have", count == 1 ? "it" : "them",
        count == 1 ? "one" : "them"));
}

size_t output_columns() { return static_cast<size_t>(look_of(STDOUT_FILENO).columns); }

std::atomic<bool>& stop_on_signals() {
  static std::atomic<bool> is_to_stop{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");
  // A closing terminal may send HUP twice, and an exceeded CPU limit XCPU every second.
  for (const auto& [number, twice] :
       {std::pair{SIGINT, SA_RESETHAND}, {SIGTERM, SA_RESETHAND}, {SIGHUP, 0}, {SIGXCPU, 0}, {SIGUSR1, 0}}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // by nohup, or a shell that starts a job in the background
    action.sa_handler = [](int) { is_to_stop = true; };
    action.sa_flags = static_cast<int>(twice) | SA_RESTART;
    sigaction(number, &action, nullptr);
  }
  return is_to_stop;
}

void flush_output() {
  if (std::fflush(stdout) != 0) fail("{}: {}", lost, std::strerror(errno));
  require(std::ferror(stdout) == 0, "{}: a part of it is lost", lost);
}

}  // namespace headroom::experiments
