#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/output/terminal_look.h"
#include "experiments/output/text.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/compare/comparison.h"
#include "experiments/studies/pages/index_page.h"
#include "experiments/studies/run/run_state.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/stored_runs.h"
#include "models/files/file_size.h"

namespace headroom::experiments {
namespace {

constexpr const char* what_a_run_is = "STUDY or STUDY/PROFILE under --out, a run's folder, or its store";

struct RunsArguments {
  std::string run, out = "runs", metric, text;
  std::vector<std::string> runs, tags;
  std::optional<int64_t> removed;
  bool is_json = false, removes = false, is_sure = false;
};

void compare(const RunsArguments& arguments) {
  std::vector<StoredRun> runs{find_run(arguments.run, arguments.out)};
  for (const std::string& other : arguments.runs) runs.push_back(find_run(other, arguments.out));
  require(runs.size() <= most_compared, "compare: takes {} runs at most, got {}", most_compared, runs.size());
  const std::vector<Comparison> comparisons = compare_runs(runs, arguments.metric);
  if (arguments.is_json) return print_json(comparison_json(comparisons));
  std::string text;
  for (const Comparison& comparison : comparisons)
    text += (text.empty() ? "" : "\n\n") + comparison_text(comparison, output_columns());
  write_output(clean(text));
}

void tag_run(const RunsArguments& arguments) {
  if (arguments.removes && arguments.tags.empty()) throw UsageError("--remove: needs a TAG");
  const StoredRun run = find_run(arguments.run, arguments.out);
  if (!arguments.tags.empty()) {
    RunStore store(run.store());
    for (const std::string& tag : arguments.tags) {
      if (!arguments.removes) store.add_tag(tag);
      else require(store.remove_tag(tag), "{} has no tag '{}'", run.name(), tag);
    }
  }
  print_text("{}: {}\n", run.name(), fmt::join(RunStore(run.store(), RunStore::Access::read).tags(), " "));
}

void note_run(const RunsArguments& arguments) {
  const StoredRun run = find_run(arguments.run, arguments.out);
  if (arguments.removed)
    require(RunStore(run.store()).remove_note(*arguments.removed), "{} has no note {}", run.name(), *arguments.removed);
  if (!arguments.text.empty()) RunStore(run.store()).add_note(arguments.text);
  for (const Note& note : RunStore(run.store(), RunStore::Access::read).notes())
    print_text("{:>3}  {} UTC  {}\n", note.id, note.at, note.text);
}

/// "27 finished trials", or that the store cannot be read.
std::string contents_of(const StoredRun& run) {
  try {
    return counted(read_run_state(RunStore(run.store(), RunStore::Access::read)).finished, "finished trial");
  } catch (const Error&) {
    return "its store cannot be read";
  }
}

/// Asks on standard error; true if the person at the terminal types y or yes.
bool answers_yes(const std::string& question) {
  fmt::print(stderr, "{} [y/N] ", clean(question));
  std::fflush(stderr);
  std::string line;
  std::getline(std::cin, line);
  return line == "y" || line == "Y" || line == "yes";
}

void remove_runs(const RunsArguments& arguments) {
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
    const std::string what = fmt::format("{} ({}, {}, {})", run.folder.string(), contents_of(run),
                                         counted(size.files, "file"), models::size_text(size.bytes));
    if (!arguments.is_sure && !answers_yes(fmt::format("delete {}?", what))) {
      write_note("headroom: kept " + run.name());
      throw Exit{1};
    }
    remove_run(run);
    print_text("deleted {}\n", what);
  }
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::path(arguments.out) / "index.html", none)) write_index(arguments.out);
}

}  // namespace

void add_runs_commands(Command app) {
  const auto a = std::make_shared<RunsArguments>();
  const auto add = [&](const char* name, const char* help, void (*run)(const RunsArguments&)) {
    const Command command = app.command(name, help);
    add_out_option(command, a->out);
    command.action([a, run] { run(*a); });
    return command;
  };
  const Command comparing = add("compare", "compare runs with the first: where they differ and by how much", compare);
  comparing.option("A", a->run, what_a_run_is).required();
  comparing.option("B", a->runs, "one or several other runs").required();
  comparing.option("--metric", a->metric, "test metric to compare (default: those of the reports)");
  comparing.flag("--json", a->is_json, "one JSON object");
  const Command tag = add("tag", "give a run tags, or print them; kept in its store", tag_run);
  tag.option("RUN", a->run, what_a_run_is).required();
  tag.option("TAG", a->tags, "words to add (default: print the run's tags)");
  tag.flag("--remove", a->removes, "remove these tags");
  const Command note = add("note", "add a note to a run, or print its notes; kept in its store", note_run);
  note.option("RUN", a->run, what_a_run_is).required();
  note.option("TEXT", a->text, "the note (default: print the run's notes)");
  note.option("--remove", a->removed, "number of a note to remove");
  const Command rm = add("rm", "delete runs with their stores, reports and kept weights", remove_runs);
  rm.option("RUN", a->runs, what_a_run_is).required();
  rm.flag("--yes", a->is_sure, "delete without asking");
}

}  // namespace headroom::experiments
