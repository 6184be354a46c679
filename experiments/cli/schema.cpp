#include <fmt/core.h>

#include <memory>

#include "experiments/cli/commands.h"
#include "experiments/config/schema_text.h"

namespace headroom::experiments {

void add_schema_command(Command app) {
  const Command command = app.command("schema", "every key that a study file may have");
  const auto is_json = std::make_shared<bool>(false);
  command.flag("--json", *is_json, "as JSON Schema, for editors");
  command.action([is_json] { fmt::print("{}", *is_json ? schema_json(study_schema()) : schema_text(study_schema())); });
}

}  // namespace headroom::experiments
