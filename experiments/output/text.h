#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::experiments {

/// Valid UTF-8 without is_control() characters other than newline and tab, and without U+FFFE and its like, which XML
/// forbids; anything else becomes U+FFFD: a text that no terminal obeys and every page may hold. What comes from a
/// study file or an error message may hold any byte.
std::string clean(std::string_view text);

/// The same on one line: spaces in place of newlines and tabs.
std::string one_line(std::string_view text);

/// `text` for HTML and XML, element content and quoted attributes alike; cleaned, then & < > " ' escaped.
std::string escape(std::string_view text);

/// RFC 4648.
std::string base64(const std::string& bytes);

/// One word of a shell's command line: in single quotes where a shell would read something else, and with is_control()
/// characters and broken UTF-8 as escapes in $'…' (bash, zsh, ksh), so that no word ends a line or hides what it is.
std::string shell_word(std::string_view text);

/// With its first letter, where that is one of a to z, as a capital.
std::string capitalized(std::string text);

/// A file-name part: lower case, everything but letters and digits as single dashes ("D 256" → "d-256").
std::string slug(std::string_view text);

/// One line of cells, each one_line(), with RFC 4180 quoting. Spreadsheets compute a cell that begins with = + - or @:
/// it gets a ' in front, unless it is a number.
std::string csv_row(const std::vector<std::string>& cells);

}  // namespace headroom::experiments
