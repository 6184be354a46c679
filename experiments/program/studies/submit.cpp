#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/output/file.h"
#include "experiments/output/program.h"
#include "experiments/output/text.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/store/shared_folder.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

struct SubmitArguments : StudyArguments {
  std::string file, data, device;
  std::vector<std::string> sbatch;
  int workers = 4;
  bool prints = false;
};

std::string quoted(const std::vector<std::string>& words, const std::function<std::string(const std::string&)>& word) {
  std::vector<std::string> all;
  std::transform(words.begin(), words.end(), std::back_inserter(all), word);
  return fmt::format("{}", fmt::join(all, " "));
}

std::string of_shell(const std::vector<std::string>& words) { return quoted(words, shell_word); }

/// Quotes a word for an #SBATCH line, where Slurm drops backslashes even inside quotes. Throws Error for a character
/// that would end the line or hide its content: there are no escapes for them.
std::string sbatch_word(const char* what, const std::string& word) {
  require(one_line(word) == word, "{}: '{}' holds a control character or broken UTF-8, which no line of #SBATCH can",
          what, excerpt(word, 1000));
  std::string text;
  for (const char c : word) text += c == '\\' ? "\\\\" : std::string(1, c);
  return shell_word(text);
}

/// Escapes the path of a log, in which Slurm replaces %j and the like.
std::string sbatch_log(const fs::path& folder, const char* name) {
  require(folder.string().find('\\') == std::string::npos,
          "--out: '{}' holds a backslash, which Slurm takes out of the paths of logs", excerpt(folder.string(), 1000));
  std::string text;
  for (const char c : folder.string()) text += c == '%' ? "%%" : std::string(1, c);
  return sbatch_word("--out", text + "/" + name);
}

/// `headroom COMMAND STUDY …` with absolute paths: a job may start anywhere.
std::string command_line(const SubmitArguments& arguments, const char* command) {
  std::vector<std::string> words{fs::read_symlink("/proc/self/exe").string(),
                                 command,
                                 fs::absolute(study_file(arguments.file)).string(),
                                 "--profile",
                                 arguments.profile,
                                 "--out",
                                 fs::absolute(arguments.out).string()};
  for (const std::string& setting : arguments.settings) words.insert(words.end(), {"--set", setting});
  return of_shell(words);
}

/// The head of both scripts. The user's arguments come last: the last of two equal options counts.
std::string head_of(const SubmitArguments& arguments, const std::string& name, const std::string& log,
                    const std::string& more) {
  const auto option = [](const std::string& word) { return sbatch_word("SBATCH", word); };
  const std::string users =
      arguments.sbatch.empty() ? "" : fmt::format("#SBATCH {}\n", quoted(arguments.sbatch, option));
  return fmt::format(
      "#!/bin/bash\n#SBATCH --job-name={}\n#SBATCH --output={}\n#SBATCH --open-mode=append\n{}{}cd {} || exit 1\n",
      sbatch_word("id", name), log, more, users, shell_word(fs::current_path().string()));
}

std::string worker_script(const SubmitArguments& arguments, const Study& study, const fs::path& folder) {
  std::vector<std::string> more{"--shared", "--yes", "--quiet"};
  if (!arguments.data.empty()) more.insert(more.end(), {"--data", fs::absolute(arguments.data).string()});
  if (!arguments.device.empty()) more.insert(more.end(), {"--device", arguments.device});
  const std::string head =
      head_of(arguments, "headroom-" + study.head.id, sbatch_log(folder, "%A_%a.log"),
              fmt::format("#SBATCH --array=1-{}\n#SBATCH --requeue\n#SBATCH --signal=B:USR1@120\n", arguments.workers));
  return head + command_line(arguments, "run") + " " + of_shell(more) +
         R"( ${SLURM_CPUS_ON_NODE:+--threads "$SLURM_CPUS_ON_NODE"} &
run=$! warned=
# Before the time limit comes USR1, before a preemption TERM: the run writes a checkpoint and ends with 130. After the
# former the job goes back to the queue; whoever is first, it or another worker, goes on from the checkpoint.
trap 'warned=1; kill -TERM "$run"' USR1
trap 'kill -TERM "$run"' TERM
while wait "$run"; status=$?; kill -0 "$run" 2>/dev/null; do :; done
[ -n "$warned" ] && [ "$status" -eq 130 ] && scontrol requeue "$SLURM_JOB_ID"
exit "$status"
)";
}

std::string report_script(const SubmitArguments& arguments, const Study& study, const fs::path& folder) {
  return head_of(arguments, fmt::format("headroom-{}-report", study.head.id), sbatch_log(folder, "report-%j.log"), "") +
         "exec " + command_line(arguments, "report") + "\n";
}

/// Whether sbatch's options ask for a GPU: --gpus, --gpus-per-task and the like, -G, --gres=gpu:1.
bool asks_for_gpu(const std::vector<std::string>& options) {
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string& word = options[i];
    const bool is_resource = word.starts_with("--gres=") || (i > 0 && options[i - 1] == "--gres");
    if (word.starts_with("--gpus") || word.starts_with("-G") || (is_resource && word.find("gpu") != std::string::npos))
      return true;
  }
  return false;
}

constexpr double patience = 120;  ///< seconds to wait for a busy controller

struct Job {
  std::string id, cluster;  ///< "" = the only one
};

/// Submits a script to Slurm.
Job submit_script(const fs::path& script, const std::vector<std::string>& options) {
  const auto sbatch = find_program("sbatch");
  require(sbatch.has_value(), "sbatch is not on PATH: this host cannot submit to Slurm; --print shows the scripts");
  std::vector<std::string> words{"--parsable"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(script.string());
  const ProgramResult result = run_program(*sbatch, words, "", patience);
  require(result.status == 0, "sbatch refuses {}: {}", script.string(), joined_lines(result.errors));
  const std::string job = joined_lines(result.output);  // JOB or JOB;CLUSTER
  const size_t end = std::min(job.find(';'), job.size());
  return {job.substr(0, end), job.substr(std::min(end + 1, job.size()))};
}

/// Removes the array from the queue after its report was refused. Returns the outcome.
std::string withdraw(const Job& array) {
  std::vector<std::string> words{array.id};
  if (!array.cluster.empty()) words.insert(words.begin(), "--clusters=" + array.cluster);
  const auto scancel = find_program("scancel");
  if (scancel && run_program(*scancel, words, "", patience).status == 0)
    return fmt::format("the workers, job {}, are cancelled", array.id);
  return fmt::format("the workers, job {}, are still queued: 'scancel {}' cancels them", array.id, of_shell(words));
}

/// Throws Error if Slurm refuses arrays of that many jobs.
void check_array(const SubmitArguments& arguments) {
  const auto scontrol = find_program("scontrol");
  if (!scontrol) return;
  std::istringstream lines(run_program(*scontrol, {"show", "config"}, "", patience).output);
  for (std::string key, equals, rest; lines >> key; std::getline(lines, rest)) {
    int size = 0;
    if (key != "MaxArraySize" || !(lines >> equals >> size)) continue;
    require(arguments.workers < size, "--workers {}: this Slurm takes {} at most (MaxArraySize {})", arguments.workers,
            size - 1, size);
  }
}

void submit(const SubmitArguments& arguments) {
  const Study study = load_study(arguments.file, arguments.profile, arguments.settings);
  check_array(arguments);
  const fs::path run = fs::absolute(study_folder(study, arguments.out)), folder = run / "slurm";
  const std::string workers = worker_script(arguments, study, folder), report = report_script(arguments, study, folder);
  if (arguments.prints) return write_output(fmt::format("{}\n{}", workers, report));
  share_run(run);
  make_folder(folder);  // Slurm makes no folder for its logs
  write_file(folder / "workers.sh", workers);
  write_file(folder / "report.sh", report);
  const Job array = submit_script(folder / "workers.sh", {});
  Job last;
  try {
    last = submit_script(folder / "report.sh", {"--dependency=afterany:" + array.id});
  } catch (const Error& error) {
    fail("{}; {}", error.what(), withdraw(array));
  }
  print_text("{} · {}: job {} ({} workers), then job {} (report); logs in {}\n", study.head.id, study.run, array.id,
             arguments.workers, last.id, folder.string());
}

}  // namespace

void add_submit_command(Command app) {
  const Command command = app.command("submit", "train a study with Slurm: an array of workers, then a report");
  const auto a = std::make_shared<SubmitArguments>();
  command.option("STUDY", a->file, "id or file of a study").required();
  command.option("SBATCH", a->sbatch, "after --: sbatch options for both jobs, such as --partition=P --time=4:00:00");
  add_study_options(command, *a);
  command.option("--workers", a->workers, "jobs of the array").range(1, 10000);
  command.option("--device", a->device, "as in run (default: cuda if the jobs ask for a GPU, else train.device)");
  add_data_option(command, a->data);
  command.flag("--print", a->prints, "only print the two scripts");
  command.action([a] {
    a->profile = profile_of(*a, a->file);
    if (a->device.empty() && asks_for_gpu(a->sbatch)) {
      a->device = "cuda";
      write_note("headroom: the jobs ask for a GPU: they train with --device cuda");
    }
    submit(*a);
  });
}

}  // namespace headroom::experiments
