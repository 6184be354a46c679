#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/error.h"
#include "models/checkpoints/compact_model.h"
#include "models/files/json.h"

/// config.json of a compact folder.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const nlohmann::json json = headroom::models::parse_json({reinterpret_cast<const char*>(data), size});
    if (json.is_object()) (void)headroom::models::read_compact_config(json, "config.json");
  } catch (const headroom::Error&) {
    return 0;
  }
  return 0;
}
