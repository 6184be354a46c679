#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::experiments {

/// Finds a program by name on PATH.
std::optional<std::filesystem::path> find_program(const std::string& name);

/// How a program ended.
struct ProgramResult {
  int status = 0;  ///< exit status; 128 + n when signal n ended it
  std::string output, errors;
};

/// Runs `program` with `input` as its standard input. Throws Error if it cannot be started, or takes longer than
/// `seconds` and is killed.
ProgramResult run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          const std::string& input, double seconds);

/// Joins the non-empty lines of a program's output with "; ".
std::string joined_lines(std::string_view text);

/// Opens a page in BROWSER, else with xdg-open (macOS: open), without waiting. Throws Error if there is none.
void open_page(const std::filesystem::path& page);

}  // namespace headroom::experiments
