#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tests/experiments/program.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/folder.h"

namespace headroom::testing {

/// What the program says with --json, which must succeed.
inline nlohmann::json run_json(const TemporaryFolder& folder, const std::string& arguments) {
  return nlohmann::json::parse(output_of(folder.path(), arguments + " --json"));
}

/// The small model with a tokenizer, and a text, as the shell takes them.
inline std::string small_model() { return "'" + (checkpoints() / "smollm2").string() + "'"; }
inline std::string small_text() { return "'" + (checkpoints().parent_path() / "text.txt").string() + "'"; }

}  // namespace headroom::testing
