#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/output/program.h"
#include "experiments/output/terminal_look.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/how_many_heads.h"
#include "experiments/studies/pages/index_page.h"
#include "experiments/studies/pages/paper_report.h"
#include "experiments/studies/pages/report.h"
#include "experiments/studies/pages/results_page.h"
#include "experiments/studies/pages/verdict_file.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "experiments/tools/plan/measured_choice.h"
#include "models/files/output.h"

namespace headroom::experiments {
namespace {

std::string study_name(const StudyResults& results) { return fmt::format("{} · {}", results.id, results.profile); }

/// Failed trials are no error, but a study without any finished trial has no result.
void check_any_finished(const StudyResults& results) {
  const auto finished = std::count_if(results.trials.begin(), results.trials.end(),
                                      [](const TrialRecord& t) { return t.status == TrialStatus::finished; });
  const int64_t ended = count_trials(results.trials), left = results.planned - ended - results.running;
  if (results.running > 0)
    write_note(fmt::format("headroom: {} · {}: {} running, {} finished, {} failed, {} to do", results.id,
                           results.profile, results.running, finished, ended - finished, std::max<int64_t>(left, 0)));
  note_unchecked(study_name(results), results.unchecked);
  if (finished > 0) return;
  require(ended > 0, "{}: no trial has finished yet; {} running, {} to do", study_name(results), results.running,
          std::max<int64_t>(left, 0));
  fail("{}: every trial {}failed; the first {}", study_name(results), ended < results.planned ? "so far " : "",
       results.trials.front().message);
}

/// The stored results of a study; without a store, its plan and no trials.
StudyResults results_of(const Study& study, const std::string& out) {
  return has_store(study, out) ? collect_results(study, out) : planned_results(study);
}

/// The study under each of its profiles that has a run.
std::vector<Study> profiles_that_ran(const std::string& file, const std::string& out) {
  std::vector<Study> run = load_profiles(file);
  std::erase_if(run, [&](const Study& study) { return !has_store(study, out); });
  return run;
}

/// The study under the requested profile. If that means the file's own keys, they have no run, and exactly one other
/// profile has, uses that one. Throws Error if several others have runs.
Study study_to_report(const std::string& file, const StudyArguments& arguments) {
  Study study = load_study(file, profile_of(arguments, file), arguments.settings);
  if (!arguments.profile.empty() || !arguments.settings.empty() || has_store(study, arguments.out)) return study;
  std::vector<Study> run = profiles_that_ran(file, arguments.out);
  if (run.empty()) return study;
  std::vector<std::string> names;
  for (const Study& other : run) names.push_back(other.run);
  require(run.size() == 1, "{}: {} has not run; --profile picks one that has: {}", study.head.id, study.profile,
          fmt::join(names, ", "));
  return std::move(run[0]);
}

struct ReportArguments : StudyArguments {
  std::vector<std::string> files;
  bool paper = false, open = false, force = false, json = false;
  std::string results, guide, choices, also, figures;
};

/// Prints every claim of every study under `out`, as last judged.
void list_claims(const std::string& out) {
  const auto all = read_verdicts(out);
  require(!all.empty(), "{}: no study has a report; headroom run STUDY makes one", out);
  print_text("{}", verdict_table(all, output_columns()));
}

/// Compares the paper's numbers with ours, on the terminal and as a page.
void compare_with_paper(const std::string& out) {
  const auto all = read_verdicts(out);
  print_text("{}report  {}\n", paper_text(all, output_columns()), write_paper_page(all, out).string());
}

/// Checks the outputs before studies are read and figures drawn. Throws Error if they lack a study, cannot be written,
/// are a study's file, named by its id, or pages of another index. True if there is any output.
bool check_report_outputs(const ReportArguments& arguments) {
  std::vector<models::CommandInput> studies;
  for (const auto& [option, path] :
       {std::pair{"--results", &arguments.results}, {"--guide", &arguments.guide}, {"--choices", &arguments.choices}}) {
    if (path->empty()) continue;
    require(!arguments.files.empty(), "{}: name the studies that it is about", option);
    if (path == &arguments.results) check_results(*path);
    else check_file(*path);
    if (studies.empty())
      for (const std::string& study : arguments.files) studies.push_back({"STUDY", study_file(study)});
    models::check_apart(*path, studies);
  }
  require(!studies.empty() || arguments.also.empty(), "--also: needs --results, --guide or --choices");
  if (arguments.results.empty() || arguments.force) return !studies.empty();
  const std::filesystem::path results = arguments.results, pages = results.parent_path() / results.stem();
  std::error_code none;
  require(!std::filesystem::exists(pages, none) || std::filesystem::is_empty(pages, none),
          "{}: its pages go into {}, which holds files; --force replaces them", arguments.results, pages.string());
  return true;
}

std::filesystem::path render_report(const Analysis& results, const Study& study, const std::string& out,
                                    bool is_verbose) {
  check_any_finished(results);
  const std::filesystem::path page = write_report(results, study_folder(study, out));
  write_index(out);
  TerminalLook look = look_of(STDOUT_FILENO);
  look.is_verbose = is_verbose;
  fmt::print("\n{}report  {}\n", terminal_table(results, look), page.string());
  return page;
}

void report(const ReportArguments& arguments) {
  const bool gathers = check_report_outputs(arguments);
  require(arguments.figures.empty() || !arguments.files.empty(), "--figures: name the studies that they are of");
  if (arguments.paper) compare_with_paper(arguments.out);
  else if (arguments.files.empty()) list_claims(arguments.out);
  std::filesystem::path page = std::filesystem::path(arguments.out) / "index.html";
  std::vector<Analysis> all;
  for (const std::string& file : arguments.files) {
    Study study = study_to_report(file, arguments);
    std::vector<Study> studies;
    if (!arguments.also.empty()) studies = profiles_that_ran(file, arguments.out);
    std::erase_if(studies,
                  [&](const Study& other) { return other.profile != arguments.also || other.run == study.run; });
    studies.insert(studies.begin(), std::move(study));
    for (const Study& one : studies) {
      merge_ended_shards(study_folder(one, arguments.out));
      Analysis results = analyse(gathers ? results_of(one, arguments.out) : collect_results(one, arguments.out));
      const bool not_run = gathers && results.trials.empty();  // the page says so
      if (!not_run) page = render_report(results, one, arguments.out, arguments.is_verbose);
      if (!arguments.figures.empty()) print_text("{}", write_document_figures(results, arguments.figures));
      if (gathers) all.push_back(std::move(results));
    }
  }
  const std::string choices = arguments.choices.empty() ? "" : choices_json(distinct_choices(all));
  all = in_order(std::move(all));
  const auto write = [&](const char* what, const std::string& path, const auto& writer) {
    if (path.empty()) return;
    writer(all, path);
    print_text("{:<8}{}\n", what, path);
  };
  write("results", arguments.results, write_results);
  write("guide", arguments.guide, write_guide);
  write("choices", arguments.choices, [&](const auto&, const auto& path) { write_file(path, choices); });
  if (arguments.open) open_page(arguments.files.size() == 1 ? page : write_index(arguments.out));
}

/// The stored verdicts on one study's claims; without a store, that nothing was run.
StoredVerdicts verdicts_of(const Study& study, const std::string& out, bool& without_store) {
  if (has_store(study, out)) {
    const Analysis results = analyse(collect_results(study, out));
    note_unchecked(study_name(results), results.unchecked);
    return stored(results);
  }
  without_store = true;
  write_note(fmt::format("headroom: {} · {} has no run store under {}; run it first", study.head.id, study.run, out));
  StudyResults nothing;
  nothing.id = study.head.id;
  nothing.profile = study.run;
  return stored({std::move(nothing), not_judged(study.head.claims, "the study was not run")});
}

void verify(const ReportArguments& arguments) {
  std::vector<StoredVerdicts> all;
  bool bad = false;
  for (const std::string& file : arguments.files)
    all.push_back(verdicts_of(load_study(file, profile_of(arguments, file), arguments.settings), arguments.out, bad));
  write_output(arguments.json ? verdict_list_json(all) : clean(verdict_table(all, output_columns())));
  for (const StoredVerdicts& one : all)
    for (const StoredVerdict& verdict : one.verdicts) bad = bad || verdict.status == name(VerdictStatus::fail);
  if (bad) throw Exit{1};
}

}  // namespace

std::filesystem::path render_report(const Study& study, const std::string& out, bool is_verbose) {
  merge_ended_shards(study_folder(study, out));
  return render_report(analyse(collect_results(study, out)), study, out, is_verbose);
}

void add_report_commands(Command app) {
  const Command command = app.command("report", "render a report again; without a study, list every claim");
  const auto a = std::make_shared<ReportArguments>();
  command.option("STUDY", a->files, "ids or files of studies");
  add_study_options(command, *a);
  add_verbose_flag(command, a->is_verbose);
  command.flag("--compare-paper", a->paper, "the numbers of the paper's tables beside ours, as text and as a page");
  command.option("--figures FOLDER", a->figures,
                 "also write the studies' main figures for a document: pgfplots for LaTeX, PDF and PNG");
  command.flag("--open", a->open, "open the report in a browser; unless there is one STUDY, the index of all");
  command
      .option(
          "--results FILE", a->results,
          "also write the findings of these studies as Markdown: an index, and a page each in the folder of its name")
      .output();
  command
      .option("--guide FILE", a->guide,
              "also write these studies' guide to choosing a number of heads: HTML for FILE.html, else Markdown")
      .output();
  command
      .option("--choices FILE", a->choices,
              "also write which numbers of heads these studies found best, as JSON: what plan --for says")
      .output();
  command.option("--also PROFILE", a->also,
                 "with --results, --guide and --choices: also this profile of the studies that ran it");
  command.flag("--force", a->force, "with --results, --guide and --choices: replace what is there");
  command.action([a] { report(*a); });
  const Command judging = app.command("verify", "judge studies' claims; exits 1 if one fails or a run is missing");
  judging.option("STUDY", a->files, "ids or files of studies").required();
  add_study_options(judging, *a);
  judging.flag("--json", a->json, "a JSON list of study, claim, verdict, measured and paper");
  judging.action([a] { verify(*a); });
}

}  // namespace headroom::experiments
