#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace headroom::experiments {

/// The gnuplot on PATH.
std::optional<std::filesystem::path> find_gnuplot();

/// What gnuplot writes to its standard output for `script`. Throws Error with its own words when it fails, writes
/// nothing or takes longer than `seconds`.
std::string run_gnuplot(const std::filesystem::path& program, const std::string& script, double seconds = 20);

/// `text` as a gnuplot string in single quotes, within which only the quote itself is special: it becomes ’.
std::string gnuplot_string(const std::string& text);

}  // namespace headroom::experiments
