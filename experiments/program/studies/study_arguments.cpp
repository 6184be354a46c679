#include "experiments/program/studies/study_arguments.h"

namespace headroom::experiments {

void add_study_options(Command command, StudyArguments& arguments) {
  command.option("--profile", arguments.profile, "the file's profile; \"paper\" is its own keys");
  add_out_option(command, arguments.out);
  command.option("--set KEY=VALUE", arguments.settings, "key=value in TOML, in place of the file's; may be repeated")
      .one_value_each();
}

void add_verbose_flag(Command command, bool& is_verbose) {
  command.flag("--verbose", is_verbose, "verdicts with their p-values");
}

void add_data_option(Command command, std::string& data) {
  command.option("--data", data, "folder that holds data/ and models/ (default: HEADROOM_DATA)");
}

void add_out_option(Command command, std::string& out) { command.option("--out", out, "folder of stores and reports"); }

}  // namespace headroom::experiments
