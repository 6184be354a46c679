#pragma once
#include <set>
#include <string>
#include <vector>

#include "models/gguf/metadata.h"
#include "models/hugging_face/known_keys.h"

namespace headroom::models {

/// Judges an architecture's unread keys, which begin with `prefix`. Refuses those known to change the computation,
/// unless their value makes them inactive. Ignores keys not known to be harmless, as llama.cpp does.
UnreadKeys judged_gguf_keys(const GgufMetadata& metadata, const std::string& prefix, const std::set<std::string>& read);

}  // namespace headroom::models
