#pragma once
#include <fmt/core.h>

#include <atomic>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "experiments/output/text.h"

namespace headroom::experiments {

/// Fills standard streams that the caller has closed, so that no file takes their numbers. Reading and writing them
/// still fails as before.
void keep_standard_descriptors();

/// Reads all of standard input. Throws Error with the system's reason, such as a folder or a closed stream.
std::string read_input();

/// Writes to standard output at once. Throws Error with the system's reason: half a table looks like a whole one.
void write_output(std::string_view text);

/// Prints clean() text to standard output: text from files and command lines cannot control the terminal.
template <class... Parts>
void print_text(fmt::format_string<Parts...> form, Parts&&... parts) {
  fmt::print("{}", clean(fmt::format(form, std::forward<Parts>(parts)...)));
}

/// Writes a line of JSON to standard output; bytes that are not UTF-8, as in file names, become U+FFFD.
void print_json(const nlohmann::ordered_json& json);

/// Writes a clean() line to standard error. Never fails: there is nowhere left to say so.
void write_note(const std::string& line);

/// Says on standard error that `count` trials of a store have no checksum; says nothing for 0.
void note_unchecked(const std::string& store, int64_t count);

/// Width of a line of standard output; 0 if it is no terminal.
size_t output_columns();

/// Returns a flag that SIGINT, SIGTERM, SIGHUP, SIGXCPU and SIGUSR1 raise from now on, unless already ignored. A second
/// SIGINT or SIGTERM has its usual effect.
std::atomic<bool>& stop_on_signals();
constexpr int interrupted = 130;  ///< the exit status after a stop: 128 + SIGINT, for every signal

/// Flushes standard output. Throws Error if this or an earlier write failed.
void flush_output();

}  // namespace headroom::experiments
