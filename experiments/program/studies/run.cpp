#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/error.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/transfer.h"
#include "experiments/program/command_line/announce.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/export/live_events.h"
#include "experiments/studies/pages/index_page.h"
#include "experiments/studies/pages/report.h"
#include "experiments/studies/run/dry_run.h"
#include "experiments/studies/run/rounds.h"
#include "experiments/studies/run/runner.h"

namespace headroom::experiments {
namespace {

constexpr int interrupted = 130;  ///< 128 + SIGINT, as shells count
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

/// The first signal asks the trials to stop; a second one has its usual effect.
void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_requested = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A full disk shows as an error of the write, not as a signal (file size limits).
  std::signal(SIGXFSZ, SIG_IGN);
}

struct RunArguments : StudyArguments {
  std::string file, data, device, tensorboard;
  RunOptions options;
  bool is_quiet = false, is_json = false, is_dry = false, is_sure = false, is_live = false;
};

void print_event(const nlohmann::json& event) { print_json(event); }

/// " · NVIDIA H200, …" where a trial runs on it.
std::string gpu_of(const Study& study) {
  for (const PlannedTrial& trial : study.trials)
    if (!trial.config.train.device.is_cpu()) return " · " + engine::cuda_status();
  return "";
}

/// "24 trials", "24 trials at first, at most 300".
std::string trials_text(const Study& study) {
  const std::string first = fmt::format("{} trials", distinct_trials(study).size());
  return study.later.empty() ? first : fmt::format("{} at first, at most {}", first, largest_plan(study).size());
}

/// Says how long a run takes that takes more than ten minutes. Throws UsageError where it takes more than an hour, a
/// person sits at the terminal, and --yes does not say that this is meant: a script is never asked.
void announce_run(const RunArguments& arguments, const Study& study) {
  constexpr double worth_a_word = 600, worth_a_question = 3600;
  const bool is_asked = isatty(STDIN_FILENO) != 0 && !arguments.is_sure;
  if (arguments.is_quiet && !is_asked) return;
  const std::optional<double> seconds = estimate_run(study, arguments.options);
  if (stop_requested) throw Exit{interrupted};
  if (!seconds || *seconds < worth_a_word) return;
  const std::string said = announcement(arguments.file, study, *seconds);
  if (is_asked && *seconds > worth_a_question) throw UsageError(said + "; --yes starts it");
  if (arguments.is_json) print_event({{"event", "estimate"}, {"seconds", *seconds}});
  else if (!arguments.is_quiet) write_note("headroom: " + said);
}

void run(RunArguments& arguments) {
  stop_on_signals();
  if (arguments.is_live && arguments.tensorboard.empty()) throw UsageError("--tensorboard needs the name of a folder");
  Study study = load_study(arguments.file, arguments.profile, arguments.settings);
  if (!arguments.device.empty()) {
    const engine::Device device = engine::device_of(arguments.device);
    for (auto* trials : {&study.trials, &study.later})
      for (PlannedTrial& trial : *trials)
        if (tasks::takes_device(trial.config.task)) trial.config.train.device = device;
  }
  RunOptions& options = arguments.options;
  options.out = arguments.out;
  options.stop = &stop_requested;
  options.data = data_roots(arguments.data);
  if (arguments.is_quiet) options.output = ProgressOutput::none;
  if (arguments.is_json) options.output = ProgressOutput::events;
  if (arguments.is_dry) {
    const std::optional<DryRun> result = dry_run(study, options);
    if (!result) throw Exit{interrupted};
    return fmt::print("{}", arguments.is_json ? dry_run_json(study, *result) : dry_run_text(study, *result));
  }
  announce_run(arguments, study);
  const int threads = options.threads > 0 ? options.threads : engine::num_threads();
  if (options.output == ProgressOutput::text) {
    fmt::print("{} · {} · {} · {} {} ({}){}\n", study.head.id, study.run, trials_text(study), threads,
               threads == 1 ? "core" : "cores", engine::name_of(engine::active_isa()), gpu_of(study));
    flush_output();  // a full disk shows before the training, not after it
  }
  std::optional<LiveEvents> events;  // the folder is made here: where that fails, nothing has been trained
  if (arguments.is_live) {
    events.emplace(arguments.tensorboard, study.head.id, study.run);
    options.watch = [&events](const auto& trial, const auto& warn) { return events->watch(trial, warn); };
  }
  if (!run_trials(study, options)) {
    const StudyResults results = collect_results(study, arguments.out);
    write_note(fmt::format("headroom: stopped with {} of {} trials done; the same command goes on from here",
                           count_trials(results.trials), results.planned));
    if (arguments.is_json)
      print_event({{"event", "stopped"}, {"done", count_trials(results.trials)}, {"trials", results.planned}});
    throw Exit{interrupted};
  }
  if (!arguments.is_json) {
    render_report(study, arguments.out);
    return;
  }
  const StudyResults results = collect_results(study, arguments.out);
  const std::filesystem::path page = write_report(results, study_folder(study, arguments.out));
  write_index(arguments.out);
  print_event({{"event", "end"}, {"report", page.string()}});
}

}  // namespace

void add_run_command(Command app) {
  const Command command = app.command("run", "train what a study still lacks, then report");
  const auto arguments = std::make_shared<RunArguments>();
  command.option("STUDY", arguments->file, "id or file of a study").required();
  add_study_options(command, *arguments);
  command.option("--jobs", arguments->options.jobs, "trials at once (default: as many as threads)").range(1, 4096);
  command.option("--threads", arguments->options.threads, "threads of all trials together (default: all cores)")
      .range(1, 4096);
  command.option("--device", arguments->device,
                 "cpu or cuda, in place of train.device; studies that only compute formulas run on the CPU");
  const Option live = command
                          .option("--tensorboard", arguments->tensorboard,
                                  "folder of event files that grow while trials train: tensorboard --logdir FOLDER")
                          .value_name("FOLDER");
  command.flag("--dry-run", arguments->is_dry, "only say what it would cost: a few steps are timed, nothing is kept");
  command.flag("--yes", arguments->is_sure, "start also what takes more than an hour, at a terminal");
  add_data_option(command, arguments->data);
  const Option quiet = command.flag("--quiet", arguments->is_quiet, "no progress");
  command.flag("--json", arguments->is_json, "one event per line on standard output, in place of the table")
      .excludes(quiet);
  command.action([arguments, live] {
    arguments->is_live = live.is_given();
    run(*arguments);
  });
}

}  // namespace headroom::experiments
