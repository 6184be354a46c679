#include <string_view>

#include "engine/error.h"
#include "models/hugging_face/config.h"

/// config.json of a Hugging Face folder.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    (void)headroom::models::parse_hugging_face({reinterpret_cast<const char*>(data), size}, "config.json");
  } catch (const headroom::Error&) {
    return 0;
  }
  return 0;
}
