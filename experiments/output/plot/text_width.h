#pragma once
#include <string>
#include <vector>

namespace headroom::experiments {

/// Width of a text in ems, in the widest of the usual sans-serif fonts: no reader's font needs more room.
double width_of(const std::string& text);

/// Wraps `text` into lines of at most `ems`, between words, or within a word that is longer; at most `most` lines, the
/// last of which then ends in an ellipsis.
std::vector<std::string> label_lines(const std::string& text, double ems, size_t most);

}  // namespace headroom::experiments
