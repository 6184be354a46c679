#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "engine/error.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/study_arguments.h"
#include "experiments/report/report.h"
#include "experiments/run/runner.h"

namespace headroom::experiments {
namespace {

/// A failed trial is no error of the study, but a study without any finished trial has no result.
void check_any_finished(const StudyResults& results) {
  for (const TrialRecord& trial : results.trials)
    if (trial.status == TrialStatus::finished) return;
  fail("{} · {}: every trial failed{}", results.id, results.profile,
       results.trials.empty() ? "" : "; the first " + results.trials.front().message);
}

}  // namespace

void render_report(const Study& study, const std::string& out) {
  const StudyResults results = collect_results(study, out);
  check_any_finished(results);
  const std::filesystem::path page = write_report(results, study_folder(study, out));
  fmt::print("\n{}report  {}\n", terminal_table(results), page.string());
}

void add_report_command(CLI::App& app) {
  struct Arguments : StudyArguments {
    std::vector<std::string> files;
  };
  CLI::App* command = app.add_subcommand("report", "render the report of finished trials again");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("STUDY", arguments->files, "study files (TOML)")->required();
  add_study_options(*command, *arguments);
  command->callback([arguments] {
    for (const std::string& file : arguments->files)
      render_report(load_study(file, arguments->profile, arguments->settings), arguments->out);
  });
}

}  // namespace headroom::experiments
