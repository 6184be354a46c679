// hostile-test [--cases FOLDER] [--every K] [--only TEXT] [--print] [--keep] [FILE…]: runs the program on the cases in
// FOLDER/*.toml (cases/ here), several at a time, and compares its answers with what they say; README.md in this folder
// has the format. --every K takes each K-th case, --only those whose name holds TEXT, FILE… those of these files;
// --print shows what the program answers.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/output/text.h"
#include "tests/hostile/case.h"
#include "tests/hostile/folder.h"
#include "tests/hostile/json_check.h"
#include "tests/hostile/process.h"
#include "tests/support/folder.h"

namespace {

namespace fs = std::filesystem;
using namespace headroom::hostile;
using headroom::require;

constexpr int64_t most_err = 4096;  ///< bytes on standard error

struct Options {
  size_t every = 1;
  std::string only, program;
  fs::path cases = fs::path(HEADROOM_SOURCE_ROOT) / "tests/hostile/cases";
  std::vector<std::string> files;
  bool prints = false, keeps = false;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The folder with the cases' inputs; "" where there is none.
std::string data_folder() {
  const char* data = std::getenv("HEADROOM_DATA");
  return data == nullptr ? "" : data;
}

using Places = std::map<std::string, std::string>;

/// What {dir}, {source}, {data} and {input} stand for in a case that runs in `folder`.
Places places_of(const Case& one, const fs::path& folder) {
  return {{"dir", folder.string()},
          {"source", HEADROOM_SOURCE_ROOT},
          {"data", data_folder()},
          {"input", (fs::path(data_folder()) / one.needs).string()}};
}

/// "" when it fits.
std::string mismatch(const char* stream, const Line& wanted, const std::string& text, const Places& places) {
  const std::string line = first_line(text), expected = filled(wanted.text, places);
  const bool fits = wanted.match == Line::Match::exact    ? line == expected
                    : wanted.match == Line::Match::starts ? line.compare(0, expected.size(), expected) == 0
                                                          : line.find(expected) != std::string::npos;
  if (fits) return "";
  const char* how = wanted.match == Line::Match::exact    ? ""
                    : wanted.match == Line::Match::starts ? " (start)"
                                                          : " (part)";
  return fmt::format("  {} wanted{}: {}\n  {} was: {}\n", stream, how, expected, stream, line.substr(0, 2000));
}

/// Deep enough that "../../../x" stays inside what is looked at.
constexpr const char* inner = "a/b/c/d/work";

class Runner {
 public:
  Runner(const Suite& suite, const Options& options, const fs::path& root)
      : suite_(suite), options_(options), root_(root) {
    fs::permissions(root, fs::perms(0755));  // for cases that run as another user
  }

  void make_fixtures() {
    for (const auto& [name, fixture] : suite_.fixtures) {
      if (!is_needed(name)) continue;
      const fs::path folder = root_ / ("fixture-" + name) / "work", logs = root_ / ("fixture-" + name);
      fs::create_directories(folder);
      make_files(fixture.files, folder);
      for (const auto& command : fixture.commands) {
        Case one;
        one.arguments = command;
        for (std::string& word : one.arguments) word = filled(word, places_of(one, folder));
        one.seconds = 120;
        const Outcome outcome = run_program(options_.program, one, folder, logs);
        require(outcome.status == 0, "fixture {}: {} exits with {}: {}", name, command[0], outcome.status, outcome.err);
      }
    }
  }

  /// The chosen cases on as many workers as there are cores.
  void run() {
    for (size_t i = 0; i < suite_.cases.size(); ++i)
      if (is_chosen(i)) chosen_.push_back(i);
    std::atomic<size_t> next{0};
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
      workers.emplace_back([&] {
        for (size_t at = next++; at < chosen_.size(); at = next++) one(suite_.cases[chosen_[at]], at);
      });
    for (std::thread& worker : workers) worker.join();
  }

  int passed = 0, failed = 0, skipped = 0;

 private:
  bool is_chosen(size_t i) const {
    const Case& one = suite_.cases[i];
    const auto stands_in = [&](const std::string& file) { return one.source.find(file) != std::string::npos; };
    return i % options_.every == 0 && one.name.find(options_.only) != std::string::npos &&
           (options_.files.empty() || std::any_of(options_.files.begin(), options_.files.end(), stands_in));
  }

  bool is_needed(const std::string& fixture) const {
    for (size_t i = 0; i < suite_.cases.size(); ++i) {
      const auto& names = suite_.cases[i].fixtures;
      if (is_chosen(i) && std::find(names.begin(), names.end(), fixture) != names.end()) return true;
    }
    return false;
  }

  void one(const Case& given, size_t number) {
    const fs::path base = root_ / fmt::format("case-{}", number), outer = base / "outer", folder = outer / inner;
    std::string complaint;
    Outcome outcome;
    std::error_code unreadable;
    outcome.is_refused = !given.needs.empty() &&
                         !(!data_folder().empty() && fs::exists(fs::path(data_folder()) / given.needs, unreadable));
    if (outcome.is_refused) return report(given, outcome, complaint, folder);
    try {
      fs::create_directories(folder);
      for (const std::string& fixture : given.fixtures) {
        require(suite_.fixtures.count(fixture) > 0, "no fixture '{}'", fixture);
        fs::copy(root_ / ("fixture-" + fixture) / "work", folder,
                 fs::copy_options::recursive | fs::copy_options::copy_symlinks);
      }
      make_files(given.files, folder);
      edit_files(given.byte_edits, folder);
      Case filled_case = given;
      const Places places = places_of(given, folder);
      for (std::string& word : filled_case.arguments) word = filled(word, places);
      for (auto& [name, value] : filled_case.environment) value = filled(value, places);
      filled_case.script = filled(filled_case.script, places);
      const Listing before = listing_of(outer);
      outcome = run_program(options_.program, filled_case, folder, base);
      complaint = judged(given, outcome, folder, differences(before, listing_of(outer)));
    } catch (const std::exception& error) {
      complaint = fmt::format("  {}\n", error.what());
    }
    report(given, outcome, complaint, folder);
    if (options_.keeps) return;
    std::error_code ignored;
    fs::remove_all(base, ignored);
  }

  static std::string judged(const Case& one, const Outcome& outcome, const fs::path& folder,
                            const std::vector<std::string>& changed) {
    if (outcome.is_refused) return "";
    std::string out;
    if (outcome.is_late) out += fmt::format("  killed after {} s\n", one.seconds);
    if (outcome.status != one.status) out += fmt::format("  status {}, wanted {}\n", outcome.status, one.status);
    const Places places = places_of(one, folder);
    if (one.err) out += mismatch("stderr", *one.err, outcome.err, places);
    else if (one.status == 0 && outcome.err_size > 0 && one.has.empty())
      out += fmt::format("  stderr wanted: nothing\n  stderr was: {}\n", first_line(outcome.err));
    if (one.out) out += mismatch("stdout", *one.out, outcome.out, places);
    const std::string said = outcome.out + outcome.err;
    const auto is_said = [&](const std::string& text) { return said.find(filled(text, places)) != std::string::npos; };
    for (const std::string& text : one.has)
      if (!is_said(text)) out += fmt::format("  not said: {}\n  stderr was: {}\n", text, first_line(outcome.err));
    for (const std::string& text : one.lacks)
      if (is_said(text)) out += fmt::format("  said: {}\n", text);
    for (const auto& [pointer, wanted] : one.json) out += json_mismatch(outcome.out, pointer, wanted, one.within);
    for (const auto& [stream, text] : {std::pair{"stderr", &outcome.err}, {"stdout", &outcome.out}}) {
      const std::string lines = text->substr(0, text->rfind('\n') + 1);  // a long one may be cut in a character
      if (headroom::experiments::clean(lines) != lines)
        out += fmt::format("  {} would steer a terminal: {}\n", stream, headroom::excerpt(lines, 300));
    }
    if (outcome.err_size > most_err) out += fmt::format("  {} bytes on stderr\n", outcome.err_size);
    if (outcome.megabytes > one.megabytes)
      out += fmt::format("  {} MB of memory, allowed {}\n", outcome.megabytes, one.megabytes);
    const std::string inside = std::string(inner) + "/";
    for (const std::string& path : changed) {
      if (path.compare(0, inside.size(), inside) != 0) {
        out += fmt::format("  wrote outside its folder: {}\n", path);
        continue;
      }
      const std::string name = path.substr(inside.size());
      const auto is_below = [&](const std::string& top) { return name == top || name.rfind(top + "/", 0) == 0; };
      if (one.status != 0 && std::none_of(one.leaves.begin(), one.leaves.end(), is_below))
        out += fmt::format("  left behind or changed: {}\n", name);
    }
    std::error_code none;
    for (const std::string& name : one.makes)
      if (!fs::exists(folder / name, none)) out += fmt::format("  did not make {}\n", name);
    for (const std::string& name : one.absent)
      if (fs::exists(fs::symlink_status(folder / name, none))) out += fmt::format("  made {}\n", name);
    return out;
  }

  void report(const Case& one, const Outcome& outcome, const std::string& complaint, const fs::path& folder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++(outcome.is_refused ? skipped : complaint.empty() ? passed : failed);
    const auto shown = [&](std::string line) {
      for (const auto& [path, name] :
           {std::pair{folder.string(), "{dir}"}, {std::string(HEADROOM_SOURCE_ROOT), "{source}"}})
        if (const size_t at = line.find(path); at != std::string::npos) line.replace(at, path.size(), name);
      return line;
    };
    if (options_.prints)
      fmt::print("{}\n  status {}\n  stderr: {}\n  stdout: {}\n", one.name, outcome.status,
                 shown(first_line(outcome.err)), shown(first_line(outcome.out)));
    if (complaint.empty()) return;
    std::string command;
    for (const std::string& word : one.arguments) command += " " + word.substr(0, 200);
    fmt::print("{}: {}\n  {}{}\n{}", one.source, one.name, one.script.empty() ? "headroom" : "its script", command,
               complaint);
    std::fflush(stdout);  // so that tests that are stopped show what they found
  }

  const Suite& suite_;
  const Options& options_;
  fs::path root_;
  std::vector<size_t> chosen_;
  std::mutex mutex_;
};

Options read_options(int argc, char** argv) {
  Options options;
  const char* program = std::getenv("HEADROOM_PROGRAM");
  require(program != nullptr, "HEADROOM_PROGRAM: expected the path of the program under test");
  options.program = program;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--print") options.prints = true;
    else if (word == "--keep") options.keeps = true;
    else if (word == "--only" && has_value) options.only = argv[++i];
    else if (word == "--cases" && has_value) options.cases = argv[++i];
    else if (word == "--every" && has_value) options.every = std::stoul(argv[++i]);
    else if (word[0] == '-') headroom::fail("{}: no such option", word);
    else options.files.push_back(word);
  }
  require(options.every > 0, "--every: expected 1 or more");
  return options;
}

int test(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const fs::path source = HEADROOM_SOURCE_ROOT;
  const Suite suite = read_suite(options.cases, {{"source", source.string()}});
  const headroom::testing::TemporaryFolder root;
  Runner runner(suite, options, root.path());
  runner.make_fixtures();
  runner.run();
  fmt::print("{} cases: {} passed, {} failed, {} skipped\n", suite.cases.size(), runner.passed, runner.failed,
             runner.skipped);
  if (options.keeps) {
    fmt::print("kept in {}; remove it yourself\n", root.path().string());
    std::fflush(stdout);
    std::_Exit(runner.failed > 0 ? 1 : 0);  // without the folder's destructor
  }
  if (const char* tally = std::getenv("HEADROOM_TALLY"))
    std::ofstream(tally, std::ios::app) << fmt::format("hostile-test of {}: {} passed, {} failed, {} skipped\n",
                                                       options.cases.filename().string(), runner.passed, runner.failed,
                                                       runner.skipped);
  require(runner.passed + runner.failed + runner.skipped > 0, "no case was chosen");
  return runner.failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return test(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "hostile-test: {}\n", error.what());
    return 1;
  }
}
