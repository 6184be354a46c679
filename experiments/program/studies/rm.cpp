#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "engine/error.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/studies/pages/index_page.h"
#include "experiments/studies/run/run_state.h"
#include "experiments/studies/run/stored_runs.h"
#include "models/files/file_size.h"

namespace headroom::experiments {
namespace {

struct RmArguments {
  std::vector<std::string> runs;
  std::string out = "runs";
  bool is_sure = false;
};

/// "27 finished trials", or that the store cannot be read.
std::string contents_of(const StoredRun& run) {
  try {
    const RunState state = read_run_state(RunStore(run.store(), RunStore::Access::read));
    return fmt::format("{} finished {}", state.finished, state.finished == 1 ? "trial" : "trials");
  } catch (const Error&) {
    return "its store cannot be read";
  }
}

/// Whether the person at the terminal types y or yes. The question goes to standard error.
bool answers_yes(const std::string& question) {
  fmt::print(stderr, "{} [y/N] ", question);
  std::fflush(stderr);
  std::string line;
  std::getline(std::cin, line);
  return line == "y" || line == "Y" || line == "yes";
}

void remove_runs(const RmArguments& arguments) {
  std::vector<StoredRun> runs;
  for (const std::string& name : arguments.runs) {
    runs.push_back(find_run(name, arguments.out));
    check_no_link(runs.back());
  }
  const bool can_ask = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
  if (!arguments.is_sure && !can_ask)
    throw UsageError("rm: there is no terminal to ask on; --yes deletes without a question");
  for (const StoredRun& run : runs) {
    const RunSize size = size_of(run);
    const std::string what = fmt::format("{} ({}, {} {}, {})", run.folder.string(), contents_of(run), size.files,
                                         size.files == 1 ? "file" : "files", models::size_text(size.bytes));
    if (!arguments.is_sure && !answers_yes(fmt::format("delete {}?", what))) {
      write_note("headroom: kept " + run.name());
      throw Exit{1};
    }
    remove_run(run);
    fmt::print("deleted {}\n", what);
  }
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::path(arguments.out) / "index.html", none)) write_index(arguments.out);
}

}  // namespace

void add_rm_command(Command app) {
  const Command command = app.command("rm", "delete runs with their stores, reports and kept weights");
  const auto arguments = std::make_shared<RmArguments>();
  command.option("RUN", arguments->runs, "STUDY or STUDY/PROFILE under --out, a run's folder, or its store").required();
  command.option("--out", arguments->out, "folder of stores and reports").show_default();
  command.flag("--yes", arguments->is_sure, "without a question");
  command.action([arguments] { remove_runs(*arguments); });
}

}  // namespace headroom::experiments
