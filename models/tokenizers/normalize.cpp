#include "models/tokenizers/normalize.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "engine/error.h"
#include "models/files/utf8.h"

namespace headroom::models {
namespace {

utf8proc_option_t options_of(Normalization form) {
  const bool composes = form == Normalization::nfc || form == Normalization::nfkc;
  const bool is_compatible = form == Normalization::nfkc || form == Normalization::nfkd;
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                        (is_compatible ? UTF8PROC_COMPAT : 0));
}

const utf8proc_uint8_t* unsigned_bytes(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

}  // namespace

const char* name_of(Normalization form) {
  constexpr const char* names[] = {"none", "NFC", "NFD", "NFKC", "NFKD"};
  return names[static_cast<size_t>(form)];
}

std::string normalized(std::string_view text, Normalization form) {
  std::string out;
  while (form != Normalization::none && !text.empty()) {
    const size_t valid = valid_utf8(text);
    utf8proc_uint8_t* mapped = nullptr;
    const utf8proc_ssize_t length =
        utf8proc_map(unsigned_bytes(text), static_cast<utf8proc_ssize_t>(valid), &mapped, options_of(form));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
    require(length >= 0, "tokenizer: {}: {}", name_of(form), utf8proc_errmsg(length));
    out.append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(length));
    const size_t invalid = valid < text.size() ? 1 : 0;
    out += text.substr(valid, invalid);
    text.remove_prefix(valid + invalid);
  }
  return form == Normalization::none ? std::string(text) : out;
}

}  // namespace headroom::models
