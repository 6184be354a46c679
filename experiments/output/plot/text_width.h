#pragma once
#include <string>
#include <vector>

namespace headroom::experiments {

/// How wide a text is in the widest of the usual sans-serif faces, in ems: no reader's font needs more room.
double width_of(const std::string& text);

/// `text` in lines of at most `ems`, broken between words, a longer word within it; at most `most` lines, the last of
/// which then ends in an ellipsis.
std::vector<std::string> label_lines(const std::string& text, double ems, size_t most);

}  // namespace headroom::experiments
