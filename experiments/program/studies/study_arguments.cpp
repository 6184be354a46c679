#include "experiments/program/studies/study_arguments.h"

#include <algorithm>

#include "experiments/studies/config/shipped_files.h"

namespace headroom::experiments {

std::string profile_of(const StudyArguments& arguments, const std::string& study) {
  if (!arguments.profile.empty()) return arguments.profile;
  const std::filesystem::path file = study_file(study);
  if (file == study) return base_profile;
  const std::vector<Study> profiles = load_profiles(file.string());
  const bool has_quick =
      std::any_of(profiles.begin(), profiles.end(), [](const Study& s) { return s.profile == "quick"; });
  return has_quick ? "quick" : base_profile;
}

void add_study_options(Command command, StudyArguments& arguments) {
  command.option("--profile NAME", arguments.profile,
                 "a profile of the file; paper: its own keys (default: paper; for an id, quick if it has one)");
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
