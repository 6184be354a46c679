#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/error.h"
#include "experiments/output/text.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/stored_runs.h"

namespace headroom::experiments {
namespace {

struct NoteArguments {
  std::string run, out = "runs", text;
  std::vector<std::string> tags;
  std::optional<int64_t> removed;
  bool removes = false;
};

std::shared_ptr<NoteArguments> run_arguments(const Command& command) {
  const auto arguments = std::make_shared<NoteArguments>();
  command.option("RUN", arguments->run, "STUDY or STUDY/PROFILE under --out, a run's folder, or its store").required();
  command.option("--out", arguments->out, "folder of stores and reports").show_default();
  return arguments;
}

void tag_run(const NoteArguments& arguments) {
  const StoredRun run = find_run(arguments.run, arguments.out);
  if (!arguments.tags.empty()) {
    RunStore store(run.store());
    for (const std::string& tag : arguments.tags) {
      if (!arguments.removes) store.add_tag(tag);
      else require(store.remove_tag(tag), "{} has no tag '{}'", run.name(), tag);
    }
  }
  fmt::print("{}: {}\n", run.name(), fmt::join(RunStore(run.store(), RunStore::Access::read).tags(), " "));
}

void note_run(const NoteArguments& arguments) {
  const StoredRun run = find_run(arguments.run, arguments.out);
  if (arguments.removed)
    require(RunStore(run.store()).remove_note(*arguments.removed), "{} has no note {}", run.name(), *arguments.removed);
  if (!arguments.text.empty()) RunStore(run.store()).add_note(arguments.text);
  for (const Note& note : RunStore(run.store(), RunStore::Access::read).notes())
    fmt::print("{:>3}  {} UTC  {}\n", note.id, note.at, clean(note.text));
}

}  // namespace

void add_tag_command(Command app) {
  const Command command = app.command("tag", "give a run tags, or print them; kept in its store");
  const auto arguments = run_arguments(command);
  command.option("TAG", arguments->tags, "words to add (default: print those that there are)");
  command.flag("--remove", arguments->removes, "remove these tags");
  command.action([arguments] {
    if (arguments->removes && arguments->tags.empty()) throw UsageError("--remove: needs a TAG");
    tag_run(*arguments);
  });
}

void add_note_command(Command app) {
  const Command command = app.command("note", "add a note to a run, or print its notes; kept in its store");
  const auto arguments = run_arguments(command);
  command.option("TEXT", arguments->text, "the note (default: print those that there are)");
  command.option("--remove", arguments->removed, "number of a note to remove");
  command.action([arguments] { note_run(*arguments); });
}

}  // namespace headroom::experiments
