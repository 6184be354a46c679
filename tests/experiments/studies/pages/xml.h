#pragma once
#include <cctype>
#include <string>
#include <vector>

namespace headroom::experiments::testing {

/// What is not well-formed in `text`; "" when every tag is closed in order, every attribute quoted, and no & or <
/// stands alone. Pages are written so that they are XML, too: a stray < from a study file cannot hide from this.
inline std::string malformed(const std::string& text) {
  std::vector<std::string> open;
  const auto where = [&](size_t at) { return ": …" + text.substr(at, 60); };
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '&') {
      const size_t end = text.find(';', at);
      if (end == std::string::npos || end - at > 8) return "a bare &" + where(at);
    }
    if (text[at] != '<') {
      ++at;
      continue;
    }
    const size_t start = at++;
    if (text[at] == '!' || text[at] == '?') {
      at = text.find('>', at);
      continue;
    }
    const bool closing = text[at] == '/';
    if (closing) ++at;
    std::string name;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == ':'))
      name += text[at++];
    if (name.empty()) return "a bare <" + where(start);
    char last = 0;
    while (at < text.size() && text[at] != '>') {
      if (text[at] == '<') return "< within a tag" + where(start);
      if (text[at] == '=') {
        do ++at;
        while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])));
        const char quote = text[at];
        if (quote != '"' && quote != '\'') return "an attribute without quotes" + where(start);
        at = text.find(quote, at + 1);
        if (at == std::string::npos) return "an open quote" + where(start);
      }
      last = text[at++];
    }
    if (at == text.size()) return "an open tag" + where(start);
    ++at;
    if (closing) {
      if (open.empty() || open.back() != name) return "a wrong closing tag" + where(start);
      open.pop_back();
    } else if (last != '/') {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

}  // namespace headroom::experiments::testing
