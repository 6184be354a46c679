#include <algorithm>
#include <string_view>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/run/store/annotations.h"
#include "models/files/utf8.h"

// Apart from the tables, so that what reads files of other people can be fuzzed without SQLite.
namespace headroom::experiments {
namespace {

constexpr size_t longest_note = 4000, longest_tag = 60;

}  // namespace

void check_note(const std::string& text) {
  const auto is_blank = [](unsigned char c) { return c <= ' '; };
  require(!std::all_of(text.begin(), text.end(), is_blank), "the note is empty");
  require(text.size() <= longest_note, "the note has {} bytes; at most {} are kept", text.size(), longest_note);
  require(models::valid_utf8(text) == text.size() && text.find('\0') == std::string::npos, "the note is no UTF-8 text");
}

void check_note_time(const std::string& at) {
  constexpr std::string_view form = "0000-00-00 00:00:00";
  const bool fits = at.size() == form.size() && std::equal(at.begin(), at.end(), form.begin(), [](char c, char wanted) {
                      return wanted == '0' ? c >= '0' && c <= '9' : c == wanted;
                    });
  require(fits, "'{}' is no time of a note: expected YYYY-MM-DD HH:MM:SS", excerpt(at));
}

void check_tag(const std::string& tag) {
  const auto is_refused = [](unsigned char c) { return c <= ' ' || c == ',' || c == 127; };
  require(!tag.empty(), "the tag is empty");
  require(tag.size() <= longest_tag, "the tag has {} bytes; at most {} are kept", tag.size(), longest_tag);
  require(models::valid_utf8(tag) == tag.size() && std::none_of(tag.begin(), tag.end(), is_refused),
          "'{}': a tag is one word without commas", excerpt(tag));
}

}  // namespace headroom::experiments
