#include "experiments/output/wrap.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/output/number.h"

namespace headroom::experiments {

std::vector<std::string> wrapped(const std::string& text, const std::function<size_t(const std::string& rest)>& fitting,
                                 bool cuts_words) {
  std::vector<std::string> lines;
  for (std::string rest = text; !rest.empty();) {
    size_t cut = std::min(fitting(rest), rest.size());
    if (cut < rest.size()) {
      const size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
      const size_t space = rest.rfind(' ', cut);
      if (space != std::string::npos && space > begin) cut = space;
      else if (!cuts_words) cut = std::min(rest.find(' ', begin), rest.size());
    }
    std::string line = rest.substr(0, cut);
    rest.erase(0, std::min(rest.find_first_not_of(' ', cut), rest.size()));
    if (!rest.empty()) line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string wrapped(const std::string& text, size_t columns, size_t indent) {
  if (columns == 0) return text;
  bool is_first = true;
  const auto fitting = [&](const std::string& rest) {
    const size_t taken = is_first ? 0 : std::min(indent, columns - 1);
    is_first = false;
    return clip(rest, columns - taken).size();
  };
  return fmt::format("{}", fmt::join(wrapped(text, fitting), "\n" + std::string(indent, ' ')));
}

}  // namespace headroom::experiments
