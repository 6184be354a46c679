#pragma once
#include <set>
#include <string>
#include <vector>

#include "models/gguf/metadata.h"
#include "models/hugging_face/known_keys.h"

namespace headroom::models {

/// Judges the keys of an architecture, which begin with `prefix`, that nothing reads: those that are known to change
/// what is computed are refused, unless they have the value at which they do not. Others that are not known to change
/// nothing are ignored, as llama.cpp does.
UnreadKeys judged_gguf_keys(const GgufMetadata& metadata, const std::string& prefix, const std::set<std::string>& read);

}  // namespace headroom::models
