#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "engine/excerpt.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/export/export.h"
#include "experiments/studies/export/publish.h"

namespace headroom::experiments {
namespace {

struct ExportArguments {
  std::string out = "runs", folder, project;
  std::vector<std::string> studies, files;
  bool metrics_only = false, findings_only = false;

  Clock clock() const { return metrics_only ? Clock::left_out : Clock::kept; }
};

std::vector<std::string> study_ids(const ExportArguments& arguments) {
  std::vector<std::string> ids;
  for (const std::string& study : arguments.studies) ids.push_back(study_id(study));
  return ids;
}

StoredTrials trials(const ExportArguments& arguments) {
  StoredTrials found(arguments.out, study_ids(arguments));
  for (const auto& [store, count] : found.unchecked()) note_unchecked(store, count);
  return found;
}

void publish(const ExportArguments& arguments) {
  for (const Published& one :
       export_trials(arguments.out, study_ids(arguments), arguments.folder, !arguments.findings_only)) {
    const std::string rest =
        one.left_out == 0 ? "" : fmt::format("; {} of another version of the training code left out", one.left_out);
    print_text("{}: {} in {}{}\n", one.run, counted(one.trials, "trial"), one.file.string(), rest);
  }
}

/// Throws UsageError if W&B would not accept the name for a project.
void check_project(const std::string& name) {
  constexpr size_t longest = 128;
  constexpr const char* forbidden = "/\\#?%:";
  if (name.size() > longest)
    throw UsageError(fmt::format("--project has {} bytes, and W&B takes {}", name.size(), longest));
  if (name.find_first_of(forbidden) != std::string::npos || clean(name) != name || name.find('\n') != std::string::npos)
    throw UsageError(
        fmt::format("--project: '{}' holds what W&B does not take: / \\ # ? % : or control characters", excerpt(name)));
}

}  // namespace

void add_export_commands(Command app) {
  const Command command = app.command("export", "print the runs of studies as csv or json, or write them as files");
  command.require_command();
  const auto arguments = std::make_shared<ExportArguments>();
  const auto add = [&](const char* name, const char* what) {
    const Command format = command.command(name, what);
    format.option("STUDY", arguments->studies, "study files or ids (default: every study that was run)");
    add_out_option(format, arguments->out);
    return format;
  };
  const Command csv = add("csv", "one row per number: history, metrics, parameters, FLOPs, seconds");
  const Command json = add("json", "a list of trials with their configs");
  for (const Command& format : {csv, json})
    format.flag("--metrics-only", arguments->metrics_only, "no clock times: equal results are equal bytes");
  csv.action([arguments] { export_csv(trials(*arguments), arguments->clock(), write_output); });
  json.action([arguments] { export_json(trials(*arguments), arguments->clock(), write_output); });
  const Command tensorboard = add("tensorboard", "one event file per trial");
  tensorboard.option("--to FOLDER", arguments->folder, "folder of the event files").required();
  tensorboard.action([arguments] {
    const size_t count = export_tensorboard(trials(*arguments), arguments->folder);
    print_text("{} trials in {}\n", count, arguments->folder);
  });
  const Command wandb = add("wandb", "one offline run of Weights & Biases per trial, for wandb sync");
  wandb.option("--to FOLDER", arguments->folder, "folder in which to make wandb/").required();
  wandb.option("--project", arguments->project, "W&B project (default: the study's id)");
  wandb.action([arguments] {
    check_project(arguments->project);
    const size_t count = export_wandb(trials(*arguments), arguments->folder, arguments->project);
    const std::string runs = (std::filesystem::path(arguments->folder) / "wandb").string();
    print_text("{} trials in {}; wandb sync {}/offline-run-* uploads them\n", count, runs, runs);
  });
  const Command published = add("trials", "one file per run to keep and share, for import");
  published.option("--to FOLDER", arguments->folder, "folder for STUDY/PROFILE.jsonl.gz").required();
  published.flag(
      "--findings-only", arguments->findings_only,
      "leave out learning curves and predictions, which findings and claims do not need: an eighth of the bytes");
  published.action([arguments] { publish(*arguments); });
  const Command import = app.command("import", "import trials exported with export trials");
  import.option("FILE", arguments->files, "files STUDY/PROFILE.jsonl.gz, or folders of them").required();
  add_out_option(import, arguments->out);
  import.action([arguments] {
    for (const Published& one : import_trials(arguments->files, arguments->out))
      print_text("{}: {} added, {} {} there\n", one.run, counted(one.trials, "trial"), one.there,
                 one.there == 1 ? "was" : "were");
});
}  // namespace headroom::experiments

}  // namespace headroom::experiments
