#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "engine/error.h"
#include "experiments/claims/paper_report.h"
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

/// Every claim of every study under `out`, as it was last judged.
void list_claims(const std::string& out) {
  const auto all = read_verdicts(out);
  require(!all.empty(), "{}: no study has a report; headroom run STUDY makes one", out);
  fmt::print("{}", verdict_table(all));
}

/// The paper's numbers beside ours, on the terminal and as a page.
void compare_with_paper(const std::string& out) {
  const auto all = read_verdicts(out);
  fmt::print("{}report  {}\n", paper_text(all), write_paper_page(all, out).string());
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
    bool paper = false;
  };
  CLI::App* command =
      app.add_subcommand("report", "render the report of finished trials again; without a study, list every claim");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("STUDY", arguments->files, "study files (TOML)");
  add_study_options(*command, *arguments);
  command->add_flag("--paper", arguments->paper, "every number of the paper beside ours, as text and as a page");
  command->callback([arguments] {
    if (arguments->paper) compare_with_paper(arguments->out);
    else if (arguments->files.empty()) list_claims(arguments->out);
    for (const std::string& file : arguments->files)
      render_report(load_study(file, arguments->profile, arguments->settings), arguments->out);
  });
}

}  // namespace headroom::experiments
