#pragma once
#include <string>

#include "experiments/studies/config/schema.h"

namespace headroom::experiments {

/// The schema as text: a table after the other, a key with its type, bounds and default, and below it its doc; lines of
/// at most `columns` characters, of any length where that is 0. `under` picks the keys of a table ("train") or below a
/// key ("report.y"); without it, long lists of words are cut short.
std::string schema_text(const Schema& schema, const std::string& under = "", size_t columns = 0);
/// The same as JSON Schema (draft 7) for editors. Numbers may be strings, for they may be arithmetic; no key but the
/// study's id is required, for a profile or a sweep may give it.
std::string schema_json(const Schema& schema);

}  // namespace headroom::experiments
