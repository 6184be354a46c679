#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "engine/error.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/study_arguments.h"
#include "models/files/file_size.h"
#include "models/files/regular_file.h"
#include "tasks/data/fetch.h"
#include "tasks/data/locate.h"

namespace headroom::experiments {
namespace {

using tasks::DataFile;
using tasks::DataSet;
using tasks::FileReport;
using tasks::FileState;

struct DataArguments {
  std::string name, data, manifest;
};

std::vector<DataSet> manifest_of(const DataArguments& arguments) {
  if (arguments.manifest.empty()) return tasks::built_in_manifest();
  const std::string text = models::read_file(arguments.manifest, {"manifest", uint64_t{1} << 24});
  try {
    return tasks::parse_manifest(text);
  } catch (const Error& error) {
    fail("{}: {}", arguments.manifest, error.what());
  }
}

/// The requested data set or file, or all.
std::vector<DataSet> selected(const DataArguments& arguments) {
  std::vector<DataSet> manifest = manifest_of(arguments);
  if (arguments.name.empty()) return manifest;
  return {tasks::data_set_named(manifest, arguments.name)};
}

void list(const DataArguments& arguments) {
  const tasks::DataRoots roots = tasks::data_roots(arguments.data);
  for (const DataSet& set : selected(arguments)) {
    print_text("{}\n  {}\n  licence: {}\n", set.name, set.title, set.licence);
    if (!set.source.empty()) print_text("  source: {}\n", set.source);
    for (const DataFile& file : set.files) {
      const FileReport report = tasks::check_file(file, roots);
      const std::string place = report.path.empty() ? file.url : report.path.string();
      print_text("  {:<22} {}  {}  {}\n", tasks::name_of(report.state), file.path,
                 file.bytes < 0 ? "size not known" : fmt::format("{} bytes", file.bytes),
                 place.empty() ? "no URL known" : place);
    }
  }
}

/// Redraws one line, on a terminal only.
void show_progress(const std::string& path, int64_t done, int64_t total) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal) return;
  fmt::print(stderr, "\r{}  {}{}\x1b[K", one_line(path), models::size_text(static_cast<uint64_t>(done)),
             total > 0 ? " of " + models::size_text(static_cast<uint64_t>(total)) : "");
  if (total > 0 && done == total) fmt::print(stderr, "\n");
}

/// Fetches every file that it can, then throws the first failure: one dead server blocks no other file.
void fetch(const DataArguments& arguments) {
  const tasks::DataRoots roots = tasks::data_roots(arguments.data);
  std::string failures;
  for (const DataSet& set : selected(arguments)) {
    for (const DataFile& file : set.files) {
      try {
        const auto path =
            tasks::fetch_file(file, roots, [&](int64_t done, int64_t total) { show_progress(file.path, done, total); });
        print_text("{:<22} {}\n", tasks::name_of(tasks::check_file(file, roots).state), path.string());
      } catch (const Error& error) {
        failures += (failures.empty() ? "" : "\n  ") + std::string(error.what());
      }
    }
  }
  if (!failures.empty()) throw Error(failures);
}

/// Missing files fail the check only for a data set requested by name.
void verify(const DataArguments& arguments) {
  const tasks::DataRoots roots = tasks::data_roots(arguments.data);
  int wrong = 0, missing = 0;
  for (const DataSet& set : selected(arguments)) {
    for (const DataFile& file : set.files) {
      const FileReport report = tasks::check_file(file, roots);
      wrong += report.state == FileState::wrong ? 1 : 0;
      missing += report.state == FileState::missing ? 1 : 0;
      print_text("{:<22} {}{}{}\n", tasks::name_of(report.state),
                 report.path.empty() ? file.path : report.path.string(), report.detail.empty() ? "" : ": ",
                 report.detail);
    }
  }
  require(wrong == 0 && (missing == 0 || arguments.name.empty()), "{} wrong, {} missing", wrong, missing);
}

}  // namespace

void add_data_command(Command app) {
  const Command data = app.command("data", "list, fetch and verify data sets");
  data.require_command();
  const auto a = std::make_shared<DataArguments>();
  const auto add = [&](const char* name, const char* help, void (*run)(const DataArguments&)) {
    const Command command = data.command(name, help);
    const Option set = command.option("NAME", a->name, "a data set or a file of it (required by fetch; default: all)");
    add_data_option(command, a->data);
    command.option("--manifest FILE", a->manifest, "manifest of your own (JSON)");
    command.action([a, run] { run(*a); });
    return set;
  };
  add("list", "every data set with its licence, and where its files are", list);
  add("fetch", "download what is missing into the cache, checked by SHA-256", fetch).required();
  add("verify", "compare the files at hand with the manifest's sizes and hashes", verify);
}

}  // namespace headroom::experiments
