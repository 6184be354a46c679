#pragma once
#include <string>

namespace headroom::experiments {

/// Throws Error for a note that is empty, longer than 4000 bytes, or no UTF-8 text.
void check_note(const std::string& text);
/// Throws Error for what is no time of a note, "2026-01-02 03:04:05".
void check_note_time(const std::string& at);
/// Throws Error for a tag that is empty, longer than 60 bytes, or holds blanks, commas or control characters.
void check_tag(const std::string& tag);

}  // namespace headroom::experiments
