#pragma once
#include <string>

namespace headroom::hostile {

/// One edit of a study's text, in lines: "train.steps = -1" replaces the key's line or adds one at the end of its
/// section, "- train.steps" deletes it, "+ TEXT" appends text at the end of the file. The section is the longest header
/// that the key starts with; a key without one stands before all headers.
std::string text_edited(const std::string& text, const std::string& edit);

/// One edit of a file's bytes: "cut N" keeps N bytes, "flip N BIT", "put N HEX", "insert N HEX", "append HEX", "u64 N
/// VALUE" (little-endian), "sub OLD => NEW" (all occurrences; at least one). A negative N counts from the end.
std::string bytes_edited(std::string bytes, const std::string& edit);

/// "0a ff" → the bytes 10 and 255.
std::string from_hex(const std::string& hex);

}  // namespace headroom::hostile
