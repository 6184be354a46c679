#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace headroom::experiments {

/// Lines of `text`, broken at spaces, none for "". `fitting`: how many bytes of a rest have room in a line. A longer
/// word stays whole, or is cut where `cuts_words` is set. An indent of the text stays.
std::vector<std::string> wrapped(const std::string& text, const std::function<size_t(const std::string& rest)>& fitting,
                                 bool cuts_words = false);

/// `text` in lines of at most `columns` characters, as far as its words allow; those after the first stand `indent`
/// deep. No end of line at its end. 0 columns: one line.
std::string wrapped(const std::string& text, size_t columns, size_t indent = 0);

}  // namespace headroom::experiments
