#include "experiments/program/studies/study_arguments.h"

#include "tasks/data/locate.h"

namespace headroom::experiments {

void add_study_options(Command command, StudyArguments& arguments) {
  command.option("--profile", arguments.profile, "the file's profile; \"paper\" is its own keys").show_default();
  command.option("--out", arguments.out, "folder of stores and reports").show_default();
  // allow_extra_args(false): each --set takes one argument, so that a study file may follow it.
  command.option("--set", arguments.settings, "key=value in TOML, in place of the file's; may be repeated")
      .one_value_each()
      .value_name("KEY=VALUE");
}

void add_data_option(Command command, std::string& data) {
  command.option("--data", data, "folder that holds data/ and models/ (default: HEADROOM_DATA)");
}

tasks::DataRoots data_roots(const std::string& data) { return tasks::data_roots(data); }

}  // namespace headroom::experiments
