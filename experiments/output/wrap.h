#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace headroom::experiments {

/// Wraps `text` at spaces; "" has no lines. `fitting`: the number of bytes of the rest that fit into a line. Longer
/// words stay whole, or are cut if `cuts_words` is set. Keeps the text's indent.
std::vector<std::string> wrapped(const std::string& text, const std::function<size_t(const std::string& rest)>& fitting,
                                 bool cuts_words = false);

/// Wraps `text` at `columns` characters, as far as its words allow; later lines are indented by `indent`. No newline at
/// the end. 0 columns: one line.
std::string wrapped(const std::string& text, size_t columns, size_t indent = 0);

}  // namespace headroom::experiments
