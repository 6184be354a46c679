#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/program/command_line/arguments.h"
#include "experiments/studies/config/study.h"

namespace headroom::experiments {

/// The options of every command that works on studies.
struct StudyArguments {
  std::string profile;  ///< "": see profile_of()
  std::string out = "runs";
  std::vector<std::string> settings;
  bool is_verbose = false;
};

/// Chooses the profile: the given one; else "quick" if the study is named by its id and has it, so that a first run
/// takes minutes; else the file's own keys. Throws Error if the study cannot be loaded.
std::string profile_of(const StudyArguments& arguments, const std::string& study);

/// --profile, --out and --set.
void add_study_options(Command command, StudyArguments& arguments);

/// --verbose: p-values on the terminal.
void add_verbose_flag(Command command, bool& is_verbose);

/// --data: the folder that holds data/ and models/.
void add_data_option(Command command, std::string& data);
/// --out: the folder of stores and reports.
void add_out_option(Command command, std::string& out);

/// Writes a study's report and the index of all reports, and prints the verdicts and tables, with p-values if
/// `is_verbose`. Returns the page's path. Throws Error if no trial has finished.
std::filesystem::path render_report(const Study& study, const std::string& out, bool is_verbose);

}  // namespace headroom::experiments
