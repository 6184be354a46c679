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

/// Puts something in the place of standard streams that the caller has closed, so that no file takes their numbers:
/// reading and writing them then fails as it did before.
void keep_standard_descriptors();

/// All of standard input. Throws Error naming the system's reason: a folder, or closed.
std::string read_input();

/// Writes to standard output at once. Throws Error naming the system's reason: half a table looks like a whole one.
void write_output(std::string_view text);

/// Prints to standard output, as clean() has it: what comes from files and command lines steers no terminal.
template <class... Parts>
void print_text(fmt::format_string<Parts...> form, Parts&&... parts) {
  fmt::print("{}", clean(fmt::format(form, std::forward<Parts>(parts)...)));
}

/// Writes a line of JSON to standard output; bytes that are not UTF-8, as names of files may have, as U+FFFD.
void print_json(const nlohmann::ordered_json& json);

/// A clean() line on standard error. Never an error itself: there is nowhere left to say so.
void write_note(const std::string& line);

/// Says on standard error that `count` trials of a store have no checksum; nothing when there are none.
void note_unchecked(const std::string& store, int64_t count);

/// Characters of a line of standard output; 0 where it is no terminal.
size_t output_columns();

/// The flag that SIGINT, SIGTERM, SIGHUP, SIGXCPU and SIGUSR1 raise from now on, unless they are ignored already. A second
/// SIGINT or SIGTERM has its usual effect.
std::atomic<bool>& stop_on_signals();
constexpr int interrupted = 130;  ///< the exit status after that: 128 + SIGINT, whichever came

/// Writes what standard output has buffered. Throws Error when that, or anything before, could not be written.
void flush_output();

}  // namespace headroom::experiments
