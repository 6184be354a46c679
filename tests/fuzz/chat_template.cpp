#include <string>

#include "engine/error.h"
#include "models/generation/chat_template.h"

/// A model's chat template, and what it makes of a conversation.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const headroom::models::ChatTemplate chat_template(std::string(reinterpret_cast<const char*>(data), size));
    const auto text = chat_template.render(
        {{"system", "Be <b> brief."}, {"user", "a\nü"}, {"assistant", "b"}, {"user", "c"}}, "<s>", "</s>");
    if (text.bytes.size() != text.marks.size()) __builtin_trap();
  } catch (const headroom::Error&) {
    return 0;
  }
  return 0;
}
