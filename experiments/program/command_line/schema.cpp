#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <set>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/output/terminal_look.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/studies/config/schema_text.h"
#include "experiments/studies/toml/complaints.h"

namespace headroom::experiments {
namespace {

struct SchemaArguments {
  std::string under;
  bool is_json = false;
};

void show_schema(const SchemaArguments& arguments) {
  constexpr int columns_of_a_log = 100;
  const Schema& schema = study_schema();
  if (arguments.is_json) {
    require(arguments.under.empty(), "--json covers all keys; omit {}", excerpt(arguments.under));
    return fmt::print("{}", schema_json(schema));
  }
  std::set<std::string> paths;
  for (const Key& key : schema) paths.insert(key.path);
  const std::string& under = arguments.under;
  if (!under.empty() && !paths.contains(under)) {
    const std::string near = nearest_path(under, paths);
    fail("{}: is no table or key of a study{}", excerpt(under),
         near.empty() ? "" : fmt::format(" (did you mean {}?)", near));
  }
  const int columns = look_of(STDOUT_FILENO).columns;
  fmt::print("{}", schema_text(schema, under, static_cast<size_t>(columns > 0 ? columns : columns_of_a_log)));
}

}  // namespace

void add_schema_command(Command app) {
  const Command command = app.command("schema", "every key that a study file may have");
  const auto arguments = std::make_shared<SchemaArguments>();
  command.option("KEY", arguments->under, "a table, or a key with those below it: train, report.y (default: all)");
  command.flag("--json", arguments->is_json, "as JSON Schema, for editors");
  command.action([arguments] { show_schema(*arguments); });
}

}  // namespace headroom::experiments
