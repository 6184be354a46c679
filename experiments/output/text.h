#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::experiments {

/// Makes any bytes safe for terminals and pages: valid UTF-8 without is_control() characters other than newline and
/// tab, and without U+FFFE and its like, which XML forbids. Anything else becomes U+FFFD. Text from study files and
/// error messages may hold any bytes.
std::string clean(std::string_view text);

/// The same on one line: spaces in place of newlines and tabs.
std::string one_line(std::string_view text);

/// `text` for HTML and XML, both element content and quoted attributes: cleaned, then & < > " ' escaped.
std::string escape(std::string_view text);

/// RFC 4648.
std::string base64(const std::string& bytes);

/// Quotes one word of a shell's command line: in single quotes if a shell would read it otherwise, and with
/// is_control() characters and broken UTF-8 escaped in $'…' (bash, zsh, ksh), so that no word ends a line or hides its
/// content.
std::string shell_word(std::string_view text);

/// Capitalizes the first letter if it is one of a to z.
std::string capitalized(std::string text);

/// A file-name part: lower case, everything but letters and digits as single dashes ("D 256" → "d-256").
std::string slug(std::string_view text);

/// One line of cells, each one_line(), with RFC 4180 quoting. Spreadsheets evaluate cells that begin with = + - or @:
/// those get a leading ' unless they are numbers.
std::string csv_row(const std::vector<std::string>& cells);

}  // namespace headroom::experiments
