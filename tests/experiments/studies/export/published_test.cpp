#include "experiments/studies/export/published.h"

#include <zlib.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/export/export.h"
#include "experiments/studies/export/publish.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/store/trial_lines.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace fs = std::filesystem;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TrialRecord trial(int seed) {
  TrialRecord r;
  r.config = nlohmann::json{{"model", {{"heads", 4}}}, {"seed", seed}}.dump();
  r.id = trial_id_of(r.config);
  r.message = "ended \"early\"\n";
  r.steps = 20;
  r.history = {{10, "train", "loss", static_cast<double>(0.1F)},
               {10, "validation", "mse", 0.1 + 0.2},
               {20, "train", "loss", static_cast<double>(1.0F / 3)},
               {20, "train", "norm", NAN},
               {20, "validation", "mse", infinity}};
  r.validation = {{"mse", 1.0 / 3}, {"none", NAN}};
  r.test = {{"mse", 4.9e-324}, {"large", 1e300}, {"low", -infinity}, {"whole", 12345678901234567.0}};
  r.test_parts = {{"mse", {0.1, 1.0 / seed, -2.5e-17}}, {"narrow", {static_cast<double>(0.7F), 2}}};
  r.predictions = {{0.5, static_cast<double>(0.3F)}, {-1, 1e-40}};
  r.parameters = 100;
  r.flops = 1.5e12;
  r.seconds = 0.1 * seed;
  r.code = "0.1.0 (abc1234)";
  r.data = {{"data/ä \"b\".txt", std::string(64, 'a')}};
  r.weights = "1234";
  return r;
}

TrialRecord failed(TrialRecord r) {
  r.status = TrialStatus::failed;
  return r;
}

fs::path store_of(const fs::path& out) { return out / "s" / "quick" / "store.sqlite"; }

void put(const fs::path& out, const std::vector<TrialRecord>& records) {
  RunStore store(store_of(out));
  for (const TrialRecord& r : records) store.put(r);
  store.set_plan({{"id", "s"}, {"title", "T"}, {"config", "[report]\ny = \"mse\"\n"}},
                 {{trial(2).id, "wide", "heads=4", 4, {{"train.lr", 0.01}}, 2},
                  {trial(1).id, "", "heads=4 seed=1", 4, {}, 1},
                  {trial_id_of("not there"), "", "heads=8", 8, {}, 1},
                  {trial(1).id, "again", "heads=4 seed=1", 4, {}, 1}});
}

/// The file of a store's trials in `folder`.
fs::path publish(const fs::path& out, const fs::path& folder, bool is_whole = true) {
  const auto all = export_trials(out, {}, folder, is_whole);
  REQUIRE(all.size() == 1);
  return all[0].file;
}

std::string json_of(const fs::path& out) {
  std::string text;
  export_json(StoredTrials(out, {}), Clock::kept, [&](std::string_view part) { text += part; });
  return text;
}

/// The text of a gzip file.
std::string unzipped(const fs::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  char piece[4096];
  for (int count = gzread(file, piece, sizeof piece); count > 0; count = gzread(file, piece, sizeof piece))
    text.append(piece, static_cast<size_t>(count));
  gzclose(file);
  return text;
}

std::string import_error(const fs::path& file, const fs::path& out) {
  return error_of([&] { import_trials({file.string()}, out); });
}

}  // namespace

TEST_CASE("published trials are those of their store to the bit, with plan, notes, tags and times") {
  const TemporaryFolder folder;
  const fs::path from = folder / "from", to = folder / "to";
  put(from, {trial(3), trial(1), failed(trial(2)), trial(1)});
  {
    RunStore store(store_of(from));
    store.add_note("longer trainings\nhelp");
    store.add_tag("final");
  }
  const fs::path file = publish(from, folder / "trials");
  CHECK(file == folder / "trials/s/quick.jsonl.gz");
  const auto imported = import_trials({(folder / "trials").string()}, to);
  REQUIRE(imported.size() == 1);
  CHECK(imported[0].run == "s/quick");
  CHECK(imported[0].trials == 3);
  CHECK(imported[0].there == 0);
  CHECK(json_of(from) == json_of(to));
  const RunStore a(store_of(from), RunStore::Access::read), b(store_of(to), RunStore::Access::read);
  CHECK(a.study() == b.study());
  CHECK(a.tags() == b.tags());
  CHECK(a.notes() == b.notes());
  const auto plan = b.plan();
  REQUIRE(plan.size() == 4);
  CHECK(plan[0].id == trial(2).id);
  CHECK(plan[0].choice == std::map<std::string, double>{{"train.lr", 0.01}});
  CHECK(plan[2].label == "heads=8");
  CHECK(plan[3].series == "again");
  CHECK(b.known(trial(1).id).attempts == 2);
  const auto before = a.find(trial(1).id), after = b.find(trial(1).id);
  REQUIRE((before && after));
  CHECK(before->ended == after->ended);
  REQUIRE(before->history.size() == 5);
  REQUIRE(after->history.size() == 5);
  for (const size_t i : {0, 1, 2, 4}) CHECK(before->history[i] == after->history[i]);
  CHECK(std::isnan(after->history[3].value));
  CHECK(before->weights == "1234");
  CHECK(after->weights.empty());  // the file of weights stays where it is
  CHECK(after->test == before->test);
  CHECK(after->test_parts == before->test_parts);
  CHECK(after->predictions == before->predictions);
}

TEST_CASE("lists of a run's line that are not of their form are refused, each for itself") {
  const auto error_with = [](const std::string& key, const std::string& list) {
    std::map<int64_t, PlanEntry> plan;
    const std::string line =
        replaced(line_of_run({}, {}), fmt::format("\"{}\":[]", key), "\"" + key + "\":[" + list + "]");
    return error_of([&] { run_from_line(line, plan); });
  };
  const std::string id(32, '0'), place = R"([0,"","",1,{},1])", time = "2026-01-02 03:04:05";
  const auto pair = [](const std::string& first, const std::string& second) {
    return "[" + first + "," + second + "]";
  };
  const std::string quoted = '"' + id + '"';
  CHECK(error_with("missing", pair(quoted, place)).empty());
  CHECK(error_with("notes", pair('"' + time + '"', "\"x\"")).empty());
  for (const char* other :
       {R"([0,"","",1,{},1,1])", R"([0.5,"","",1,{},1])", R"([-1,"","",1,{},1])", R"([10000000,"","",1,{},1])",
        R"([0,1,"",1,{},1])", R"([0,"",1,1,{},1])", R"([0,"","",1,[],1])", R"([0,"","",1,{},0.5])"})
    CHECK(contains(error_with("missing", pair(quoted, other)), "expected position, series, label"));
  for (const std::string& other : {pair(quoted, place + ",1"), pair("7", place), pair("\"0\"", place)})
    CHECK(contains(error_with("missing", other), "expected lists of an id and a place"));
  for (const std::string& other : {pair('"' + time + '"', "\"x\",1"), pair("7", "\"x\""), pair('"' + time + '"', "7")})
    CHECK(contains(error_with("notes", other), "expected lists of time and text"));
  CHECK(is_trial_id("0123456789abcdef0123456789abcdef"));
  for (const char c : {'/', ':', '`', 'g', 'A'}) CHECK_FALSE(is_trial_id(std::string(32, c)));
  CHECK_FALSE(is_trial_id(std::string(31, '0')));
  // What is no number stands among numbers of f32.
  CHECK(contains(line_of_trial(trial(1), {}, {}), R"("norm",[20],{"f32":[null]}])"));
}

TEST_CASE("equal stores are published as equal bytes, without a time in the gzip header") {
  const TemporaryFolder folder;
  put(folder / "a", {trial(3), trial(1), trial(2)});
  const std::string bytes = read_bytes(publish(folder / "a", folder / "x"));
  import_trials({(folder / "x").string()}, folder / "b");
  CHECK(read_bytes(publish(folder / "b", folder / "y")) == bytes);
  CHECK(bytes.substr(0, 2) == "\x1f\x8b");
  CHECK(bytes.substr(3, 5) == std::string(5, '\0'));  // no name, and no time
}

TEST_CASE("findings alone are published without curves, and with the parts of metrics that the study names") {
  const TemporaryFolder folder;
  put(folder / "a", {trial(1)});
  const fs::path file = publish(folder / "a", folder / "x", false);
  CHECK(fs::file_size(file) < fs::file_size(publish(folder / "a", folder / "y")));
  import_trials({file.string()}, folder / "b");
  const auto after = RunStore(store_of(folder / "b"), RunStore::Access::read).find(trial(1).id);
  REQUIRE(after);
  CHECK(after->history.empty());
  CHECK(after->predictions.empty());
  CHECK(after->test == trial(1).test);
  CHECK(after->test_parts.count("mse") == 1);
  CHECK(after->test_parts.count("narrow") == 0);
}

TEST_CASE("trials whose ids are of another version of the training code are left out and counted") {
  const TemporaryFolder folder;
  TrialRecord old = trial(2);
  old.id = std::string(32, '0');
  put(folder / "a", {trial(1), old});
  const auto all = export_trials(folder / "a", {"s"}, folder / "x", true);
  REQUIRE(all.size() == 1);
  CHECK(all[0].trials == 1);
  CHECK(all[0].left_out == 1);
  CHECK(
      contains(error_of([&] { export_trials(folder / "a", {"t"}, folder / "x", true); }), "no run store of study 't'"));
  CHECK(contains(error_of([&] { export_trials(folder / "c", {}, folder / "x", true); }), "there is no run store"));
}

TEST_CASE("what a store has finished stays, and a finished trial takes the place of a failed one") {
  const TemporaryFolder folder;
  put(folder / "a", {trial(1), trial(2), failed(trial(3)), failed(trial(4))});
  const fs::path file = publish(folder / "a", folder / "x");
  TrialRecord mine = trial(1);
  mine.test["mse"] = 7;
  {
    RunStore store(store_of(folder / "b"));
    for (const TrialRecord& r : {mine, failed(trial(2)), trial(3)}) store.put(r);
    store.set_plan({{"id", "mine"}}, {});
    store.add_tag("mine");
  }
  const auto first = import_trials({file.string()}, folder / "b");
  CHECK(first[0].trials == 2);
  CHECK(first[0].there == 2);
  const RunStore store(store_of(folder / "b"), RunStore::Access::read);
  CHECK(store.find(trial(1).id)->test.at("mse") == 7);
  CHECK(store.known(trial(2).id).is_finished);
  CHECK(store.known(trial(3).id).is_finished);
  CHECK_FALSE(store.known(trial(4).id).is_finished);
  CHECK(store.study().at("id") == "mine");
  const auto again = import_trials({file.string()}, folder / "b");
  CHECK(again[0].trials == 0);
  CHECK(again[0].there == 4);
}

TEST_CASE("a run after an import trains nothing, and gives the same report") {
  const StudyFile study_file(small_study());
  const TemporaryFolder folder;
  const Study study = load_study(study_file.path());
  RunOptions options{.out = folder / "a", .output = ProgressOutput::none};
  REQUIRE(run_trials(study, options));
  const std::string bytes = read_bytes(publish(options.out, folder / "x"));
  import_trials({(folder / "x").string()}, folder / "b");
  options.out = folder / "b";
  REQUIRE(run_trials(study, options));
  CHECK(read_bytes(publish(options.out, folder / "y")) == bytes);  // attempts and times would differ
  CHECK(collect_results(study, options.out).trials.size() == 8);
}

TEST_CASE("a published file that was cut short or changed is refused, and nothing is written") {
  const TemporaryFolder folder;
  put(folder / "a", {trial(1), trial(2)});
  const fs::path file = publish(folder / "a", folder / "x"), bad = folder / "bad.gz", out = folder / "b";
  const std::string bytes = read_bytes(file);
  for (size_t length = 0; length < bytes.size(); length += 7) {
    write_bytes(bad, bytes.substr(0, length));
    CAPTURE(length);
    CHECK(contains(import_error(bad, out), bad.string() + ":"));
  }
  for (size_t at = 10; at < bytes.size(); at += 3) {  // the first ten are the header, with the system's name
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 4);
    write_bytes(bad, other);
    CAPTURE(at);
    const std::string error = import_error(bad, out);
    if (!error.empty()) {
      CHECK(contains(error, bad.string() + ":"));
      continue;
    }
    // A bit that fills the last block's last byte means nothing.
    CHECK(read_bytes(publish(out, folder / "same")) == bytes);
    fs::remove_all(out);
  }
  write_bytes(bad, bytes + "x");
  CHECK(contains(import_error(bad, out), "bytes after the end of the compressed text"));
  write_bytes(bad, bytes + bytes);
  CHECK(contains(import_error(bad, out), "bytes after the end of the compressed text"));
  CHECK_FALSE(fs::exists(out));
  // A sound file before a bad one is not taken over either.
  CHECK_FALSE(error_of([&] { import_trials({file.string(), bad.string()}, out); }).empty());
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("each line of a published file is checked, and an error names it") {
  const TemporaryFolder folder;
  put(folder / "a", {trial(1), trial(2)});
  const std::string text = unzipped(publish(folder / "a", folder / "x"));
  const fs::path bad = folder / "bad.jsonl", out = folder / "b";
  write_bytes(bad, text);
  CHECK(import_error(bad, out).empty());  // as text, too
  fs::remove_all(out);
  struct Case {
    const char *old, *with, *says;
  };
  const std::string first = std::min(trial(1).id, trial(2).id), second = std::max(trial(1).id, trial(2).id);
  const std::vector<Case> cases{
      {"\"format\":1", "\"format\":2", ":1: format 2, and this program reads 1: the file is from a newer headroom"},
      {"\"format\":1", "\"format\":-1", ":1: 'format' is -1: expected a whole number"},
      {"\"headroom\":\"trials\"", "\"headroom\":3", ":1: 'headroom' is 3: expected \"trials\""},
      {"\"study\":\"s\"", "\"study\":\"../s\"", ":1: 'study' is '../s': expected letters"},
      {"\"profile\":\"quick\"", "\"profile\":\"quick+..%2f\"", ":1: 'profile' is"},
      {"\"profile\":\"quick\"", "\"profile\":\"\"", ":1: 'profile' is ''"},
      {"\"trials\":2", "\"trials\":3", ":4: the file is cut short: it has 2 of 3 trials"},
      {"\"trials\":2", "\"trials\":1", ":3: there are more trials than the 1"},
      {"\"trials\":2", "\"trials\":1e300", ":1: 'trials' is 1e+300: expected a whole number"},
      {"\"seed\\\":", "\"seed\\\": ", ":2: trial '"},
      {"\"status\":\"finished\"", "\"status\":\"done\"", ":2: 'status' is 'done': expected finished or failed"},
      {"\"steps\":20", "\"steps\":99999999999999999999", ":2: 'steps' is 1e+20: expected a whole number"},
      {"\"steps\":20", "\"steps\":18446744073709551615",
       ":2: 'steps' is 18446744073709551615: expected a whole number"},
      {"\"steps\":20", "\"steps\":-1", ":2: 'steps' is -1"},
      {"\"steps\":20", "\"stepz\":20", ":2: 'steps' is missing"},
      {"\"parameters\":100", "\"parameters\":null", ":2: 'parameters' is null"},
      {"\"flops\":1500000000000", "\"flops\":NaN", ":2: is not JSON"},
      {"\"flops\":1500000000000", "\"flops\":1e999", ":2: is not JSON"},
      {"\"flops\":1500000000000", "\"flops\":-1", ":2: 'flops' is -1: expected a number from 0"},
      {"\"ended\":", "\"ended\":99", ":2: 'ended' is 99"},
      {"\"attempts\":1", "\"attempts\":1,\"attempts\":1", ":2: has key 'attempts' twice"},
      {"[10,20]", "[10,10]", ":2: 'history': step 10 of train/loss after 10: expected whole numbers that rise"},
      {"[10,20]", "[10,20,30]", ":2: 'history': train/loss has 3 steps and 2 values"},
      {"\"norm\",[20]", "\"loss\",[20]", ":2: 'history' has train/loss twice"},
      {"{\"f32\":[0.1,", "{\"f32\":[1e40,", ":2: 'history' has 1e+40: no number of f32"},
      {"{\"f32\":[0.1,", "{\"f33\":[0.1,", ":2: 'history' has object: expected a list of numbers"},
      {"\"none\":null", "\"none\":\"x\"", ":2: 'validation' has 'x': expected a number, null"},
      {"\"mse\":[0.1,", "\"mse\":[null,", ":2: 'test_parts' of mse has null"},
      {"\"predictions\":[", "\"predictions\":[[1],", ":2: 'predictions' has 3 lists: expected targets and outputs"},
      {"\"data\":{", "\"data\":{\"x\":1,", ":2: 'data.x' is 1: expected a string"}};
  for (const Case& one : cases) {
    write_bytes(bad, replaced(text, one.old, one.with));
    CAPTURE(one.old, one.with);
    CHECK(contains(import_error(bad, out), bad.string() + one.says));
  }
  write_bytes(bad, replaced(text, "\"id\":\"" + first, "\"id\":\"" + second));
  CHECK(contains(import_error(bad, out), "is not that of its config"));
  const size_t line_2 = text.find('\n') + 1, line_3 = text.find('\n', line_2) + 1;
  write_bytes(bad, text.substr(0, line_2) + text.substr(line_3) + text.substr(line_2, line_3 - line_2));
  CHECK(contains(import_error(bad, out), ":3: trial " + first + " after " + second));
  write_bytes(bad, text.substr(0, text.size() - 9));
  CHECK(contains(import_error(bad, out), ":3: is not JSON"));
  CHECK_FALSE(fs::exists(out));
  CHECK(contains(import_error(folder / "none", out), "No such file"));
  fs::create_directory(folder / "empty");
  CHECK(contains(import_error(folder / "empty", out), "holds no .jsonl.gz file"));
}

TEST_CASE("a small file that stands for a large text is refused before it is in memory") {
  const TemporaryFolder folder;
  const fs::path path = folder / "x.gz";
  GzipFile file(path);
  for (int i = 0; i < 100; ++i) file.write(std::string(10000, i % 10 == 9 ? '\n' : ' '));
  file.commit();
  CHECK(fs::file_size(path) < 10000);
  std::string line;
  const auto read_all = [&](const LineLimits& limits) {
    LineReader reader(path, limits);
    while (reader.next(line)) continue;
  };
  CHECK(error_of([&] { read_all({}); }).empty());
  CHECK(contains(error_of([&] { read_all({.text = 500000}); }), "the text has more than"));
  CHECK(contains(error_of([&] { read_all({.line = 50000}); }), ":1: the line has more than"));
  CHECK(contains(error_of([&] { read_all({.file = 100}); }), "100"));
}

TEST_CASE("trials on a head of a trained model are found without its weights") {
  const StudyFile file(R"([study]
id = "bound"
[task]
kind   = "softmax-bound"
length = 8
head   = { kind = "trained", run = "nowhere/quick", seed = 1, layer = 0, index = 0 }
[sweep]
"task.length" = [8, 16]
seed          = [1]
[report]
x = { key = "task.length" }
y = { metric = "jacobian_norm" }
)");
  const Study study = load_study(file.path());
  REQUIRE(study.trials.size() == 2);
  const TemporaryFolder folder;
  const std::string no_weights = "\"weights\":\"\"";
  const auto computed_from = [&](const PlannedTrial& planned, char weights, double value) {
    TrialRecord r;
    r.config = replaced(canonical_json(planned.config), no_weights, "\"weights\":\"" + std::string(64, weights) + "\"");
    r.id = trial_id_of(r.config);
    r.test = {{"jacobian_norm", value}};
    return r;
  };
  {
    RunStore store(study_folder(study, folder.path()) / "store.sqlite");
    store.put(computed_from(study.trials[0], 'a', 1));
    store.put(failed(computed_from(study.trials[1], 'b', 2)));
  }
  StudyResults results = collect_results(study, folder.path());
  REQUIRE(results.trials.size() == 1);
  CHECK(results.trials[0].test.at("jacobian_norm") == 1);
  CHECK(results.trials[0].x == 8);
  RunStore(study_folder(study, folder.path()) / "store.sqlite").put(computed_from(study.trials[1], 'a', 3));
  results = collect_results(study, folder.path());
  REQUIRE(results.trials.size() == 2);
  CHECK(results.trials[1].test.at("jacobian_norm") == 3);
  const RunOptions options{.out = folder.path(), .output = ProgressOutput::none};
  CHECK(run_trials(study, options));  // what is known is not computed again, and could not be
  CHECK(RunStore(study_folder(study, folder.path()) / "store.sqlite").known(results.trials[0].id).attempts == 1);
}
