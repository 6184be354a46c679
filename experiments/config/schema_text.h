#pragma once
#include <string>

#include "experiments/config/schema.h"

namespace headroom::experiments {

/// The schema as text: a table after the other, a line per key with its type, bounds and default, and its doc.
std::string schema_text(const Schema& schema);
/// The same as JSON Schema (draft 7) for editors. Numbers may be strings, for they may be arithmetic; no key but the
/// study's id is required, for a profile or a sweep may give it.
std::string schema_json(const Schema& schema);

}  // namespace headroom::experiments
