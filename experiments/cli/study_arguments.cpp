#include "experiments/cli/study_arguments.h"

#include <CLI/CLI.hpp>

#include "tasks/data/locate.h"

namespace headroom::experiments {

void add_study_options(CLI::App& command, StudyArguments& arguments) {
  command.add_option("--profile", arguments.profile, "the file's profile; \"paper\" is its own keys")
      ->capture_default_str();
  command.add_option("--out", arguments.out, "folder of stores and reports")->capture_default_str();
  // allow_extra_args(false): each --set takes one argument, so that a study file may follow it.
  command.add_option("--set", arguments.settings, "key=value in TOML, in place of the file's; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

void add_data_option(CLI::App& command, std::string& data) {
  command.add_option("--data", data, "folder that holds data/ and models/ (default: HEADROOM_DATA)");
}

tasks::DataRoots data_roots(const std::string& data) { return tasks::data_roots(data); }

}  // namespace headroom::experiments
