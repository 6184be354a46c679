#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/error.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/transfer.h"
#include "experiments/output/number.h"
#include "experiments/output/units.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/ranks/ranks.h"
#include "experiments/program/studies/learning_watch.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/analysis/verdict.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/export/live_events.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/index_page.h"
#include "experiments/studies/pages/report.h"
#include "experiments/studies/run/dry_run.h"
#include "experiments/studies/run/foreseen.h"
#include "experiments/studies/run/known_heads.h"
#include "experiments/studies/run/rounds.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/trial.h"
#include "experiments/studies/run/work_pool.h"
#include "tasks/data/locate.h"

namespace headroom::experiments {
namespace {

/// Takes under ten minutes even if narrow heads train at 2 GFLOP/s a core.
constexpr double certainly_short = 600 * 2e9;

/// The study's first round without trials that its store has as finished.
Study without_finished(const Study& study, const std::filesystem::path& out) {
  Study left = study;
  left.later.clear();
  const std::filesystem::path path = study_folder(study, out) / "store.sqlite";
  if (!RunStore::exists(path)) return left;
  const RunStore store(path, RunStore::Access::read);
  find_known_heads(left, store);
  const auto known = store.known();
  std::erase_if(left.trials, [&](const PlannedTrial& trial) {
    const auto found = known.find(trial.id);
    return found != known.end() && found->second.is_finished;
  });
  return left;
}

/// Sequences that all trials train on: the measure for comparing a study's profiles.
double sequences_of(const Study& study) {
  double sum = 0;
  for (const PlannedTrial* trial : distinct_trials(study))
    sum += static_cast<double>(trial->config.train.steps) * static_cast<double>(trial->config.train.batch);
  return sum;
}

/// Estimates the seconds for a study's missing trials, from a few steps of three kinds of them. Nothing if counts alone
/// show less than ten minutes, if only formulas are left, or once `options.stop` was raised.
std::optional<double> estimate_run(const Study& study, const RunOptions& options) {
  Study left = without_finished(study, options.out);
  WorkPool pool(options.data);
  const LeftOut left_out = without_model(distinct_trials(study), pool);
  std::erase_if(left.trials, [&](const PlannedTrial& trial) { return left_out.trials.contains(trial.id); });
  double flops = 0;
  for (const PlannedTrial* trial : distinct_trials(left))
    flops += training_flops(trial->config, pool.get(trial->config));
  const int threads = options.threads > 0 ? options.threads : engine::num_threads();
  if (flops < certainly_short * threads) return std::nullopt;
  const std::optional<DryRun> result = dry_run(left, options, {.groups = 3, .fewest_steps = 2, .seconds = 0.2});
  return result ? std::optional(result->seconds) : std::nullopt;
}

/// The profile to try before a long one: quick, else the one that trains least, if that is less than `study`; "" if
/// there is none.
std::string quicker_profile(const std::string& file, const Study& study) {
  const double own = sequences_of(study);
  std::string least;
  double fewest = own;
  for (const Study& other : load_profiles(file)) {
    const double sequences = sequences_of(other);
    if (sequences >= own) continue;
    if (other.profile == "quick") return other.profile;
    if (sequences < fewest) least = other.profile, fewest = sequences;
  }
  return least;
}

struct RunArguments : StudyArguments {
  std::string file, data, device, tensorboard;
  RunOptions options;
  bool is_quiet = false, is_json = false, is_dry = false, is_sure = false, is_live = false;
};

/// The GPU if a trial runs on it, else the CPU.
engine::Device device_of(const Study& study) {
  for (const PlannedTrial& trial : study.trials)
    if (!trial.config.train.device.is_cpu()) return trial.config.train.device;
  return engine::cpu;
}

/// "24 trials", "24 trials at first, at most 300".
std::string trials_text(const Study& study) {
  const std::string first = fmt::format("{} trials", distinct_trials(study).size());
  return study.later.empty() ? first : fmt::format("{} at first, at most {}", first, largest_plan(study).size());
}

/// Announces runs of more than ten minutes. Throws UsageError for more than an hour if a person sits at the terminal
/// and --yes is not given; scripts are never asked.
void announce_run(const RunArguments& arguments, const Study& study) {
  constexpr double worth_a_word = 600, worth_a_question = 3600;
  const bool is_asked = isatty(STDIN_FILENO) != 0 && !arguments.is_sure;
  if (arguments.is_quiet && !is_asked) return;
  const std::optional<double> seconds = estimate_run(study, arguments.options);
  if (*arguments.options.stop) throw Exit{interrupted};
  if (!seconds || *seconds < worth_a_word) return;
  const std::string quicker = quicker_profile(arguments.file, study),
                    said = fmt::format("{} · {}: what is left to train takes about {} by estimate{}", study.head.id,
                                       study.run, seconds_text(*seconds),
                                       quicker.empty() ? "" : fmt::format("; --profile {} takes less", quicker));
  if (is_asked && *seconds > worth_a_question) throw UsageError(said + "; --yes starts it");
  if (arguments.is_json) print_json({{"event", "estimate"}, {"seconds", *seconds}});
  else if (!arguments.is_quiet) write_note("headroom: " + said);
}

void run(RunArguments& arguments) {
  // File size limits then show as write errors, like a full disk, not as signals.
  std::signal(SIGXFSZ, SIG_IGN);
  arguments.options.stop = &stop_on_signals();
  if (arguments.is_live && arguments.tensorboard.empty()) throw UsageError("--tensorboard needs the name of a folder");
  Study study = load_study(arguments.file, profile_of(arguments, arguments.file), arguments.settings);
  std::unique_ptr<tasks::Ranks> ranks = arguments.is_dry ? nullptr : started_ranks(arguments.device);
  if (!arguments.device.empty()) {
    const engine::Device device = engine::device_of(arguments.device);
    for (auto* trials : {&study.trials, &study.later})
      for (PlannedTrial& trial : *trials)
        if (tasks::takes_device(trial.config.task)) trial.config.train.device = device;
  }
  std::string way;
  if (ranks) ranks = ranks_on(device_of(study), std::move(ranks), way);
  RunOptions& options = arguments.options;
  options.out = arguments.out;
  options.data = tasks::data_roots(arguments.data);
  options.ranks = ranks.get();
  if (ranks && !ranks->is_first()) return follow_trials(study, options);
  if (arguments.is_quiet) options.output = ProgressOutput::none;
  if (arguments.is_json) options.output = ProgressOutput::events;
  if (arguments.is_dry) {
    const std::optional<DryRun> result = dry_run(study, options);
    if (!result) throw Exit{interrupted};
    return write_output(arguments.is_json ? dry_run_json(study, *result) : clean(dry_run_text(study, *result)));
  }
  announce_run(arguments, study);
  const int threads = options.threads > 0 ? options.threads : engine::num_threads();
  if (options.output == ProgressOutput::text) {
    const std::string gpu = device_of(study).is_cpu() ? "" : " · " + engine::cuda_status(),
                      together =
                          ranks ? fmt::format(" · {} ranks{}{}", ranks->size(), way.empty() ? "" : " ", way) : "";
    print_text("{} · {} · {} · {} ({}){}{}\n", study.head.id, study.run, trials_text(study), counted(threads, "core"),
               engine::name_of(engine::active_isa()), gpu, together);
    for (const std::string& line : undecidable(study)) print_text("{}\n", line);
    flush_output();  // a full disk shows before the training, not after
  }
  std::optional<LiveEvents> events;  // makes the folder, which must fail before anything is trained
  if (arguments.is_live) {
    events.emplace(arguments.tensorboard, study.head.id, study.run);
    options.watch = [&events](const auto& trial, const auto& warn) { return events->watch(trial, warn); };
  }
  if (options.output == ProgressOutput::text) {
    options.after_round = [](const Analysis& results, int64_t rounds, const std::string& next) {
      write_note(fmt::format("headroom: after round {}: {}; {}", rounds, tally(results.verdicts()), next));
    };
    options.after_series = [told = std::map<std::string, VerdictStatus>()](const Analysis& so_far,
                                                                           const std::string& series) mutable {
      return series_news(so_far, series, told);
    };
  }
  if (!arguments.is_quiet) options.watch = with_learning_watch(study, arguments.out, options.watch);
  const bool has_ended = run_trials(study, options);
  if (ranks) tasks::told_by_first(*ranks, "", tasks::endless_patience);
  ranks.reset();
  if (!has_ended) {
    const StudyResults results = collect_results(study, arguments.out);
    write_note(fmt::format("headroom: stopped with {} of {} trials done; the same command goes on from here",
                           count_trials(results.trials), results.planned));
    if (arguments.is_json)
      print_json({{"done", count_trials(results.trials)}, {"event", "stopped"}, {"trials", results.planned}});
    throw Exit{interrupted};
  }
  if (!arguments.is_json) {
    render_report(study, arguments.out, arguments.is_verbose);
    return;
  }
  const Analysis results = analyse(collect_results(study, arguments.out));
  const std::filesystem::path page = write_report(results, study_folder(study, arguments.out));
  write_index(arguments.out);
  print_json({{"event", "end"}, {"report", page.string()}});
}

}  // namespace

void add_run_command(Command app) {
  const Command command = app.command("run", "train what a study still lacks, then report");
  const auto a = std::make_shared<RunArguments>();
  command.option("STUDY", a->file, "id or file of a study").required();
  add_study_options(command, *a);
  command.option("--jobs", a->options.jobs, "trials at once (default: one per thread; on a GPU 4 to 16)")
      .range(1, 4096);
  command.option("--threads", a->options.threads, "threads of all trials together (default: all cores)").range(1, 4096);
  command.option("--device", a->device,
                 "cpu or cuda, in place of train.device; studies that only compute formulas run on the CPU");
  const Option live = command.option("--tensorboard FOLDER", a->tensorboard,
                                     "folder of event files that grow while trials train: tensorboard --logdir FOLDER");
  command.flag("--dry-run", a->is_dry, "only estimate the cost: time a few steps, keep nothing");
  command.flag("--yes", a->is_sure, "at a terminal, also start a run of more than an hour");
  command.flag("--shared", a->options.is_shared,
               "keep trials in files that several hosts may write to (automatic if --out is on NFS or the like)");
  add_data_option(command, a->data);
  add_verbose_flag(command, a->is_verbose);
  const Option quiet = command.flag("--quiet", a->is_quiet, "no progress");
  command.flag("--json", a->is_json, "one event per line on standard output, in place of the table").excludes(quiet);
  command.action([a, live] {
    a->is_live = live.is_given();
    run(*a);
  });
}

}  // namespace headroom::experiments
