#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::experiments {

/// Valid UTF-8 without control characters other than newline and tab, and without U+FFFE and its like, which XML
/// forbids; anything else becomes U+FFFD: a text that no terminal obeys and every page may hold. What comes from a
/// study file or an error message may hold any byte.
std::string clean(std::string_view text);

/// `text` for HTML and XML, element content and quoted attributes alike; cleaned, then & < > " ' escaped.
std::string escape(std::string_view text);

/// RFC 4648.
std::string base64(const std::string& bytes);

/// One word of a shell's command line: in single quotes where a shell would read something else.
std::string shell_word(std::string_view text);

/// With its first letter, where that is one of a to z, as a capital.
std::string capitalized(std::string text);

/// A file-name part: lower case, everything but letters and digits as single dashes ("D 256" → "d-256").
std::string slug(std::string_view text);

/// One line of cells with RFC 4180 quoting.
std::string csv_row(const std::vector<std::string>& cells);

}  // namespace headroom::experiments
