#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::experiments {

/// The program of that name on PATH.
std::optional<std::filesystem::path> find_program(const std::string& name);

/// How a program ended.
struct ProgramResult {
  int status = 0;  ///< exit status; 128 + n when signal n ended it
  std::string output, errors;
};

/// Runs `program` with `input` as its standard input. Throws Error when it cannot be started or takes longer than
/// `seconds`; it is then killed.
ProgramResult run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          const std::string& input, double seconds);

/// The lines of what a program said as one, "; " between them, without those that are empty.
std::string joined_lines(std::string_view text);

/// Starts `program` and does not wait for it: its output is dropped and it outlives us. Throws Error when it cannot be
/// started.
void start_program(const std::filesystem::path& program, const std::vector<std::string>& arguments);

}  // namespace headroom::experiments
