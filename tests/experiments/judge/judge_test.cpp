// Claims on runs of other programs: what is decided, and what is refused.
#include "tests/experiments/judge/judge.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "experiments/tools/judge/judge_output.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// Two arms at one rate with these values, seeds from 0.
std::string arms(const std::vector<double>& adamw, const std::vector<double>& muon, int first_seed_of_muon = 0) {
  std::string text = "optimizer,seed,test_loss\n";
  for (size_t i = 0; i < adamw.size(); ++i)
    text += "adamw," + std::to_string(i) + "," + std::to_string(adamw[i]) + "\n";
  for (size_t i = 0; i < muon.size(); ++i)
    text +=
        "muon," + std::to_string(i + static_cast<size_t>(first_seed_of_muon)) + "," + std::to_string(muon[i]) + "\n";
  return text;
}

const std::string plain_runs = "[runs]\nmetric = \"test_loss\"\nseries = \"optimizer\"\n";

}  // namespace

TEST_CASE("a sweep in a CSV is judged as a study's trials are: at rates chosen on validation, paired by seed") {
  Judging judging(tuned_runs + muon_claim);
  judging.add("runs.csv", two_optimizers());
  const Verdict v = judging.verdicts().at(0);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(v.number("seeds") == 5);
  // By hand: the mean over seeds of log(muon / adamw) at rate 0.002.
  double sum = 0;
  for (int seed = 0; seed < 5; ++seed) {
    const double adamw = 2.3 + 0.02 * (seed - 2), muon = adamw - 0.05 + 0.001 * (seed % 3);
    sum += std::log(muon / adamw) / 5;
  }
  CHECK(v.number("ratio") == Approx(std::exp(sum)).epsilon(1e-6));
  CHECK(v.intervals.at(0).method == "t on logs");
  CHECK(judging.judged.notes.empty());
}

TEST_CASE("the same runs as TSV, with quotes, a byte order mark and CRLF, and as JSON lines give the same numbers") {
  Judging csv(tuned_runs + muon_claim), tsv(tuned_runs + muon_claim), json(tuned_runs + muon_claim);
  csv.add("runs.csv", two_optimizers());
  std::string tabs = "\xEF\xBB\xBF", lines;
  std::istringstream rows(two_optimizers());
  std::vector<std::string> names;
  for (std::string row; std::getline(rows, row);) {
    std::vector<std::string> cells;
    std::istringstream cut(row);
    for (std::string cell; std::getline(cut, cell, ',');) cells.push_back(cell);
    if (names.empty()) names = cells;
    for (size_t i = 0; i < cells.size(); ++i) tabs += (i ? "\t\"" : "\"") + cells[i] + "\"";
    tabs += "\r\n";
    if (cells == names) continue;
    lines += "{\"config\": {\"optimizer\": \"" + cells[0] + "\", \"lr\": " + cells[1] + "}, \"seed\": " + cells[2] +
             ", \"val_loss\": " + cells[3] + ", \"test_loss\": " + cells[4] + "}\n";
  }
  tsv.add("runs.tsv", tabs);
  json.add("runs.jsonl", lines);
  write_bytes(
      json.folder / "claims.toml",
      replaced(replaced(tuned_runs, "\"optimizer\"", "\"config.optimizer\""), "\"lr\"", "\"config.lr\"") + muon_claim);
  const double ratio = csv.verdicts().at(0).number("ratio");
  CHECK(tsv.verdicts().at(0).number("ratio") == ratio);
  CHECK(json.verdicts().at(0).number("ratio") == ratio);
}

TEST_CASE("a row a step: runs are compared at the last step that all have, and what lies beyond is named") {
  const auto table = [](int64_t last_of_muon) {
    std::string text = "optimizer,seed,step,test_loss\n";
    for (const char* name : {"adamw", "muon"})
      for (int seed = 0; seed < 4; ++seed)
        for (int64_t step = 100; step <= (std::string(name) == "muon" ? last_of_muon : 300); step += 100)
          text += fmt::format("{},{},{},{}\n", name, seed, step,
                              3 - 0.001 * static_cast<double>(step) + 0.01 * seed + (*name == 'm' ? 0.002 * seed : 0));
    return text;
  };
  Judging equal(plain_runs + muon_claim + one_rate), longer(plain_runs + muon_claim + one_rate),
      own_last(plain_runs + "at_own_last = true\n" + muon_claim + one_rate);
  equal.add("runs.csv", table(300));
  longer.add("runs.csv", table(900));
  own_last.add("runs.csv", table(900));
  const Verdict v = equal.verdicts().at(0);
  CHECK(v.steps == 300);
  CHECK(equal.runs.runs.size() == 8);
  CHECK(longer.verdicts().at(0).number("ratio") == v.number("ratio"));
  CHECK(longer.says("test_loss is taken at step 300, the last that all runs have"));
  CHECK(longer.says("up to step 900, are left out"));
  CHECK(own_last.verdicts().at(0).number("ratio") < v.number("ratio"));
}

TEST_CASE("runs with the metrics of another are that run again") {
  const std::vector<double> adamw{2.30, 2.31, 2.29}, repeated{2.25, 2.25, 2.25};
  Judging judging(plain_runs + muon_claim + one_rate);
  judging.add("runs.csv", arms(adamw, repeated));
  const Verdict v = judging.verdicts().at(0);
  CHECK(v.status == VerdictStatus::undecided);
  CHECK(v.number("seeds") == 1);
  CHECK(judging.says("2 runs left out, the metrics of another run to the last digit"));
  CHECK(judging.says("runs.csv:6 (as "));
  Judging allowed(plain_runs + "identical = \"an accuracy of 100 images\"\n" + muon_claim + one_rate);
  allowed.add("runs.csv", arms(adamw, repeated));
  CHECK(allowed.verdicts().at(0).number("seeds") == 3);
}

TEST_CASE("times do not make a repeated run a new one") {
  Judging judging(plain_runs + muon_claim + one_rate);
  judging.add("runs.csv",
              "optimizer,seed,runtime,test_loss\nadamw,0,10,2.3\nadamw,1,11,2.3\nmuon,0,9,2.2\nmuon,1,9,2.1\n");
  judging.verdicts();
  CHECK(judging.says("1 run left out, the metrics of another run"));
}

TEST_CASE("seeds that do not pair are compared unpaired, which is said") {
  const std::vector<double> adamw{2.30, 2.33, 2.27, 2.31}, muon{2.20, 2.23, 2.21, 2.18};
  Judging judging(plain_runs + "larger_is_better = false\n" + replaced(muon_claim, "kind", "log_error = false\nkind") +
                  one_rate);
  judging.add("runs.csv", arms(adamw, muon, 100));
  const Verdict v = judging.verdicts().at(0);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(std::any_of(v.notes.begin(), v.notes.end(), [](const auto& n) { return contains(n, "compared unpaired"); }));
  const ConfidenceInterval& i = v.intervals.at(0);
  CHECK(i.method == "unpaired t");
  // By hand: standard error sqrt(1.5625e-4 + 1.0833e-4); both samples have three degrees, whose t(0.05) is 2.35336.
  CHECK(i.value == Approx(-0.0975));
  CHECK(i.low == Approx(-0.135775).epsilon(1e-4));
  CHECK(i.high == Approx(-0.059225).epsilon(1e-4));
  Judging paired(plain_runs + muon_claim + one_rate), unseeded(plain_runs + muon_claim + one_rate);
  paired.add("runs.csv", arms(adamw, muon));
  CHECK(paired.verdicts().at(0).intervals.at(0).method == "t on logs");
  unseeded.add("runs.csv", replaced(arms(adamw, muon), ",seed,", ",note,"));
  const Verdict no_seeds = unseeded.verdicts().at(0);
  CHECK(contains(no_seeds.intervals.at(0).method, "unpaired"));
  CHECK(std::any_of(no_seeds.notes.begin(), no_seeds.notes.end(),
                    [](const auto& n) { return contains(n, "no seeds are known"); }));
}

TEST_CASE("a rate that was chosen on the reported metric decides nothing") {
  Judging judging(replaced(tuned_runs, "choose = \"val_loss\"\n", "") + muon_claim);
  judging.add("runs.csv", two_optimizers());
  const Verdict v = judging.verdicts().at(0);
  CHECK(v.status == VerdictStatus::undecided);
  CHECK(v.tested == VerdictStatus::pass);
  CHECK(contains(sentence(v), "chosen on the very items that are reported"));
}

TEST_CASE("one learning rate for all arms decides nothing, unless the claim says why it is enough") {
  const std::vector<double> adamw{2.30, 2.33, 2.27}, muon{2.20, 2.23, 2.17};
  Judging silent(plain_runs + muon_claim), told(plain_runs + muon_claim + one_rate);
  for (Judging* one : {&silent, &told}) one->add("runs.csv", arms(adamw, muon));
  CHECK(silent.verdicts().at(0).status == VerdictStatus::undecided);
  CHECK(contains(sentence(silent.verdicts().at(0)), "say in single_rate why one is enough"));
  CHECK(told.verdicts().at(0).status == VerdictStatus::pass);
  // A column of rates that has one value is the same.
  std::string one_value = two_optimizers(), kept;
  std::istringstream rows(one_value);
  for (std::string row; std::getline(rows, row);)
    if (contains(row, ",lr,") || contains(row, ",0.002,")) kept += row + "\n";
  Judging single(tuned_runs + muon_claim);
  single.add("runs.csv", kept);
  CHECK(contains(sentence(single.verdicts().at(0)), "only one value of lr was tried"));
}

TEST_CASE("crashed, running and diverged runs are named and in no mean") {
  Judging judging(plain_runs + muon_claim + one_rate);
  judging.add(
      "runs.csv",
      "optimizer,seed,status,test_loss\nadamw,0,finished,2.3\nadamw,1,finished,2.31\nadamw,2,crashed,1.0\n"
      "adamw,3,running,1.0\nadamw,4,finished,nan\nmuon,0,finished,2.2\nmuon,1,finished,2.22\nmuon,2,finished,2.21\n"
      "muon,3,finished,2.19\nmuon,4,finished,inf\n,5,finished,2.1\nmuon,6,finished,\n");
  const Verdict v = judging.verdicts().at(0);
  CHECK(v.number("seeds") == 2);
  CHECK(v.intervals.at(0).to.value == Approx(std::sqrt(2.3 * 2.31)));
  for (const char* words : {"crashed: ", "(status = crashed)", "still running: ", "diverged, with a last test_loss",
                            ":6, ", "no optimizer: ", "no test_loss: "})
    CHECK(judging.says(words));
}

TEST_CASE("a second run of one arm and seed is no further seed, and what it differs in is named") {
  Judging judging(plain_runs + muon_claim + one_rate);
  judging.add("runs.csv",
              "optimizer,data,seed,test_loss\nadamw,c4,0,2.3\nadamw,c4,1,2.31\nmuon,c4,0,2.2\nmuon,c4,1,2.25\n"
              "muon,pile,0,2.0\nmuon,pile,1,2.01\n");
  CHECK(judging.verdicts().at(0).number("seeds") == 2);
  CHECK(judging.says("but another data: name that as series"));
  write_bytes(judging.folder / "claims.toml", plain_runs + "where = { data = \"c4\" }\n" + muon_claim + one_rate);
  judging.verdicts();
  CHECK(judging.says("2 runs outside `where`"));
  CHECK_FALSE(judging.says("but another data"));
}

TEST_CASE("larger is better where the file says so") {
  const std::string claim =
      "[[claim]]\nkind = \"worse_than_best\"\nat = 1\nfactor = 1.2\nbecause = \"a fifth\"\n" + one_rate;
  const auto judge = [&](const std::string& flag) {
    Judging judging("[runs]\nmetric = \"reward\"\nx = \"width\"\n" + flag + claim);
    judging.add("runs.csv", "width,seed,reward\n2,0,1.5\n2,1,1.6\n2,2,1.4\n1,0,1.0\n1,1,1.05\n1,2,0.93\n");
    return judging.verdicts().at(0).status;
  };
  CHECK(judge("larger_is_better = true\n") == VerdictStatus::pass);
  CHECK(judge("larger_is_better = false\n") == VerdictStatus::fail);
}

TEST_CASE("a column or a metric that does not exist is an error that names a near one") {
  Judging judging(replaced(plain_runs, "optimizer", "optimiser") + muon_claim + one_rate);
  judging.add("runs.csv", arms({1, 2}, {1, 2}));
  CHECK(contains(error_of([&] { judging.verdicts(); }),
                 "[runs] series = \"optimiser\": no run has it; did you mean \"optimizer\"?"));
  Judging series(plain_runs + replaced(muon_claim, "\"muon\"", "\"moun\"") + one_rate);
  series.add("runs.csv", arms({1, 2}, {1, 2}));
  CHECK(contains(error_of([&] { series.verdicts(); }), "did you mean \"muon\"?"));
}

TEST_CASE("without claims it says what is there and what could be decided, and writes a file that runs") {
  Judging judging("");
  judging.add("runs.csv", two_optimizers());
  RunRoles roles;
  const ForeignRuns runs = read_runs(judging.paths, roles);
  guess_roles(roles, runs.runs, true);
  CHECK(roles.metric == "test_loss");
  CHECK(roles.choose == "val_loss");
  CHECK(roles.seed == "seed");
  CHECK(roles.series == std::vector<std::string>{"optimizer"});
  CHECK(roles.rate == std::vector<std::string>{"lr"});
  const JudgedRuns judged = judged_runs(runs, roles);
  const std::string text = inventory(runs, roles, judged, 0);
  for (const char* words :
       {"30 runs", "adamw, muon", "0.001, 0.002, 0.003", "adamw / muon   5 and 5", "these are enough"})
    CHECK(contains(text, words));
  write_bytes(judging.folder / "claims.toml", first_claims(roles, judged.results));
  CHECK(judging.verdicts().size() == 1);
}

TEST_CASE("names that are usual elsewhere are understood: nested settings, accuracies, rewards") {
  const TemporaryFolder folder;
  write_bytes(
      folder / "runs.jsonl",
      "{\"optimizer\": {\"name\": \"a\"}, \"eval/acc\": 0.9}\n{\"optimizer\": {\"name\": \"a\"}, \"eval/acc\": 0.8}\n"
      "{\"optimizer\": {\"name\": \"b\"}, \"eval/acc\": 0.7}\n");
  RunRoles roles;
  guess_roles(roles, read_runs({(folder / "runs.jsonl").string()}, roles).runs, true);
  CHECK(roles.series == std::vector<std::string>{"optimizer.name"});
  CHECK(roles.metric == "eval/acc");
  CHECK(roles.larger_is_better);
}

TEST_CASE("JUnit: a fail is a failure, an open claim is skipped, and text is escaped") {
  const std::string reverse = "[[claim]]\nkind = \"less_than\"\nseries = \"adamw\"\nthan = { series = \"muon\" }\n";
  Judging judging(plain_runs + reverse + one_rate + muon_claim);
  judging.add("runs.csv", arms({2.30, 2.33, 2.27}, {2.20, 2.23, 2.17}));
  const std::string xml = junit_xml("c<d", judging.verdicts(), {"note & more"});
  for (const char* words : {"<testsuite name=\"c&lt;d\" tests=\"2\" failures=\"1\" skipped=\"1\">",
                            "<failure message=\"", "<skipped message=\"", "note &amp; more"})
    CHECK(contains(xml, words));
}

TEST_CASE("the page shows every arm and claim, what was left out, and the claims file; names are text") {
  Judging judging(replaced(plain_runs + muon_claim + one_rate, "\"muon\"", "\"<b>muon\""));
  judging.add("runs.csv", replaced(arms({2.30, 2.33, 2.27}, {2.20, 2.23}), "muon,0", "<b>muon,0") + "<b>muon,1,2.1\n" +
                              "<b>muon,2,2.15\nadamw,7,nan\n");
  judging.verdicts();
  judging.judged.results.resolved_config = "metric = \"<i>\"";
  const std::string page = judge_page(analyse(judging.judged.results), judging.judged.notes, "headroom judge 'a b'");
  for (const char* words : {"Which arm has the lowest test_loss?", "&lt;b&gt;muon", "diverged", "headroom judge",
                            "&lt;i&gt;", "<svg", "The arms in numbers"})
    CHECK(contains(page, words));
  CHECK(!contains(page, "<b>muon"));
}

TEST_CASE("over an x the page draws the curve") {
  Judging judging(
      "[runs]\nmetric = \"loss\"\nx = \"share\"\n[[claim]]\nkind = \"flat\"\nfactor = 1.2\nbecause = \"twenty "
      "percent\"\n" +
      one_rate);
  std::string text = "share,seed,loss\n";
  for (int share = 0; share < 4; ++share)
    for (int seed = 0; seed < 3; ++seed)
      text += fmt::format("{},{},{}\n", 0.1 * share, seed, 2 + 0.1 * share + 0.01 * ((seed + share) % 3));
  judging.add("runs.csv", text);
  judging.verdicts();
  CHECK(contains(judge_page(analyse(judging.judged.results), {}, "headroom judge"), "How does loss depend on share?"));
}

TEST_CASE("a column that counts repetitions is the seed, and a validation metric of any case chooses") {
  std::string text = "Exp,Optimizer,LR,Run #,Val Acc,Test Acc\n";
  int count = 0;
  for (const char* optimizer : {"Adam-W", "Lion"})
    for (const char* lr : {"0.001", "0.003"})
      for (int run = 1; run <= 4; ++run, ++count)
        text +=
            fmt::format("exp{},{},{},{},{},{}\n", count, optimizer, lr, run, 0.8 + 0.001 * count, 0.7 + 0.002 * count);
  Judging judging("");
  judging.add("runs.csv", text);
  judging.runs = read_runs(judging.paths, {});
  RunRoles roles;
  guess_roles(roles, judging.runs.runs, true);
  CHECK(roles.seed == "Run #");
  CHECK(roles.x.empty());
  CHECK(roles.series == std::vector<std::string>{"Optimizer"});
  CHECK(roles.metric == "Test Acc");
  CHECK(roles.choose == "Val Acc");
  CHECK(roles.larger_is_better);
}

}  // namespace headroom::experiments
