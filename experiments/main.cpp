#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <string>

#include "engine/error.h"
#include "experiments/cli/commands.h"
#include "experiments/run/provenance.h"
#include "experiments/toml/problems.h"

namespace {

constexpr int failed = 1, usage = 2;

/// One line, whatever the message.
int complain(std::string message, int code) {
  for (size_t at = message.find("\n  "); at != std::string::npos; at = message.find("\n  "))
    message.replace(at, 3, "; ");
  fmt::print(stderr, "headroom: error: {}\n", message);
  return code;
}

int run(int argc, char** argv) {
  CLI::App app("How many attention heads, of what width, does a job need?", "headroom");
  app.set_version_flag("--version", "headroom " + headroom::experiments::version());
  app.require_subcommand(0, 1);  // none is an error below: CLI11 would take a misspelt one for none
  headroom::experiments::add_run_command(app);
  headroom::experiments::add_report_command(app);
  headroom::experiments::add_verify_command(app);
  headroom::experiments::add_export_command(app);
  headroom::experiments::add_status_command(app);
  headroom::experiments::add_bench_command(app);
  headroom::experiments::add_list_command(app);
  headroom::experiments::add_schema_command(app);
  headroom::experiments::add_plan_command(app);
  headroom::experiments::add_ops_command(app);
  headroom::experiments::add_doctor_command(app);
  headroom::experiments::add_data_command(app);
  headroom::experiments::add_tokenize_command(app);
  headroom::experiments::add_spectrum_command(app);
  headroom::experiments::add_new_op_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0 || error.get_name() == "RuntimeError") return app.exit(error);
    return complain(std::string(error.what()) + " (see headroom --help)", usage);
  }
  if (app.get_subcommands().empty()) return complain("a subcommand is required (see headroom --help)", usage);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const headroom::experiments::ConfigError& error) {
    for (const std::string& problem : error.problems()) complain(problem, failed);
    return failed;
  } catch (const std::exception& error) {
    return complain(error.what(), failed);
  }
}
