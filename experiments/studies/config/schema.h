#pragma once
#include <cstddef>
#include <string>

#include "experiments/studies/toml/schema.h"

namespace headroom::experiments {

/// Every key of a study file, collected from the binders.
const Schema& study_schema();

/// The schema as text: table by table, each key with its type, bounds and default, and its doc below; lines of at most
/// `columns` characters (0: no limit). `under` picks the keys of a table ("train") or below a key ("report.y"); without
/// it, long lists of words are cut short.
std::string schema_text(const Schema& schema, const std::string& under = "", size_t columns = 0);
/// The same as JSON Schema (draft 7) for editors. Numbers may be strings, since arithmetic is allowed; only the study's
/// id is required, since a profile or a sweep may give other keys.
std::string schema_json(const Schema& schema);

}  // namespace headroom::experiments
