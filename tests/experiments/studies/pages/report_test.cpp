#include "experiments/studies/pages/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "experiments/output/file.h"
#include "experiments/output/number.h"
#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/results_page.h"
#include "experiments/studies/pages/set_up.h"
#include "experiments/studies/pages/verdict_change.h"
#include "experiments/studies/pages/verdict_file.h"
#include "experiments/studies/words/verdict_words.h"
#include "tests/experiments/studies/pages/folder.h"
#include "tests/experiments/studies/pages/rich.h"
#include "tests/experiments/studies/pages/xml.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
using namespace testing;

TEST_CASE("a report has a page, figures, data, config and verdicts") {
  auto files = files_of(rich());
  CHECK(files.size() == 15);
  const std::string& page = files["report.html"];
  CHECK(malformed(page) == "");
  CHECK(contains(page, "33 of 33 trials done, 3 failed"));
  CHECK(contains(page, "After 200 steps, with 1 head the error is 101× ["));
  CHECK(contains(page, "<span class=\"status\">fail</span>"));
  CHECK(contains(page, "After 200 steps, with 4 heads the error is 0.339× ["));
  CHECK(contains(page, "+ 1 failed"));
  CHECK(contains(page, "last finite 0.5"));
  CHECK(contains(page, ">edge<"));
  CHECK(contains(page, "id = &quot;synthetic&quot;"));
  CHECK(times(page, "<script") == 1);  // the one that sorts tables
  CHECK_FALSE(contains(page, "nan"));
  CHECK(files["config.toml"] == rich().resolved_config);
  CHECK(contains(files["results.csv"], "seconds"));
  CHECK_FALSE(contains(files["metrics.csv"], "seconds"));

  const auto verdicts = nlohmann::json::parse(files["verdicts.json"]);
  REQUIRE(verdicts["verdicts"].size() == 3);
  CHECK(verdicts["study"] == "synthetic");
  CHECK(verdicts["verdicts"][0]["status"] == "pass");
  CHECK(verdicts["verdicts"][0]["numbers"]["best_x"] == 4);
  CHECK(verdicts["verdicts"][1]["status"] == "fail");
  CHECK(verdicts["verdicts"][1]["claim"]["among"] == std::vector<double>{8});
  CHECK(verdicts["verdicts"][2]["claim"]["factor"] == 3);
}

TEST_CASE("a figure of an earlier report goes, other files stay") {
  const TemporaryFolder folder;
  make_folder(folder.path());
  for (const char* name : {"figure-of-old.svg", "figure-d-64.svg", "mine.svg"}) write_file(folder / name, "earlier");
  write_report(analyse(rich()), folder.path());
  CHECK_FALSE(std::filesystem::exists(folder / "figure-of-old.svg"));
  CHECK(read_bytes(folder / "figure-d-64.svg").starts_with("<svg "));
  CHECK(read_bytes(folder / "mine.svg") == "earlier");
}

TEST_CASE("nothing depends on the order in which trials ended") {
  StudyResults r = rich();
  const auto before = files_of(r);
  const std::string table = terminal_table(analyse(r));
  std::mt19937 random(5);
  for (int i = 0; i < 2; ++i) {
    std::shuffle(r.trials.begin(), r.trials.end(), random);
    CHECK(files_of(r) == before);
    CHECK(terminal_table(analyse(r)) == table);
  }
}

TEST_CASE("what a study file says is text, never markup or a command") {
  const std::string nasty = "<script>alert('x')</script> \"&\" `touch pwned` %s {} @x $x \x01\xff '' \\";
  StudyResults r = rich();
  r.title = r.paper = r.profile = r.id = r.report.x_label = r.report.y_label = r.resolved_config = nasty;
  r.report.overlays[0].label = nasty;
  r.provenance[nasty] = nasty;
  r.claims[0].paper = nasty;
  r.series[0] = r.report.overlays[0].series = nasty;
  for (ClaimConfig& c : r.claims) c.series = nasty;
  for (TrialRecord& t : r.trials) {
    if (t.series == "D 256") t.series = nasty;
    if (t.status == TrialStatus::failed) t.message = nasty;
    if (!t.choice.empty()) t.choice = {{nasty, t.choice.begin()->second}};
  }
  auto files = files_of(r);
  for (const auto& [name, text] : files) {
    if (!contains(name, ".html") && !contains(name, ".svg")) continue;
    CAPTURE(name);
    CHECK(malformed(text) == "");
    CHECK(times(text, "<script") == (contains(name, ".html") ? 1 : 0));
    CHECK_FALSE(contains(text, "\x01"));
    CHECK_FALSE(contains(text, "\xff"));
  }
  CHECK(contains(files["report.html"], "&lt;script&gt;alert(&#39;x&#39;)"));
  CHECK_NOTHROW(nlohmann::json::parse(files["verdicts.json"]));
  CHECK_FALSE(std::filesystem::exists("pwned"));
}

TEST_CASE("a report of diverged metrics, of zeros and of numbers that are hardly any") {
  const std::vector<std::vector<double>> measured[] = {
      {{1e300, 2e300, 1.5e300}, {1e-300, 2e-300, 3e-300}, {1.6e308, 1.7e308, 1.5e308}},
      {{1e-310, 2e-310, 5e-324}, {3e-310, 2e-310, 1e-310}, {4e-310, 5e-310, 6e-310}},
      {{1e-310, 1e-310, 1e-310}, {1e308, 1e308, 1e308}, {1e100, 1e100, 1e100}},
      {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}},
      {{-1.7e308, 1.7e308, 0}, {1.7e308, -1.7e308, 1}, {1, 2, 3}}};
  for (const auto& errors : measured) {
    StudyResults r = testing::study({1, 2, 4}, errors);
    for (const bool on_logs : {true, false})
      for (ClaimConfig c :
           {claim("interior_optimum"), claim("optimum_at", {.among = {2}}), claim("monotone"),
            claim("flat", {.factor = 1.1}), claim("curved", {.percent = 5}), claim("slope", {.limits = {.low = 0}}),
            claim("saturates"), claim("band", {.limits = {.low = 0}}), claim("within_percent", {.value = 1}),
            claim("within_factor", {.at = 2})}) {
        c.log_error = on_logs;
        r.claims.push_back(c);
      }
    INFO(errors[0][0] << ", " << errors[1][0]);
    for (const Verdict& v : judge(r)) {
      INFO(v.claim.kind->name << (v.claim.log_error ? " on logs: " : ": ") << sentence(v));
      CHECK_FALSE(contains(sentence(v) + summary(v), "nan"));
      CHECK_FALSE(contains(sentence(v), "p = 0 "));
    }
    const auto files = files_of(r);
    CHECK(malformed(files.at("report.html")) == "");
    CHECK_NOTHROW(nlohmann::json::parse(files.at("verdicts.json")));
  }
}

TEST_CASE("a report says where a study is not the paper's, and what its rounds added") {
  StudyResults r = rich();
  r.deviations = {"f32 in place of <mixed> precision", "batches of 8"};
  r.rounds = {"round 2: 6 more trials: lr 0.1 at heads = 4"};
  const std::string html = files_of(r)["report.html"], markdown = as_markdown(study_page({r, judge(r)}, {}));
  CHECK(malformed(html) == "");
  CHECK(contains(html, "f32 in place of &lt;mixed&gt; precision"));
  CHECK(contains(html, "round 2: 6 more trials"));
  CHECK(contains(markdown, "Not as in the paper: f32 in place of \\<mixed\\> precision; batches of 8.\n"));
  CHECK(contains(markdown, "Rounds: round 2: 6 more trials.\n"));
  CHECK_FALSE(contains(as_markdown(study_page({rich(), judge(rich())}, {})), "Not as in the paper"));
}

TEST_CASE("a study in its first minutes has a report, too") {
  StudyResults nothing = rich();
  nothing.trials.clear();
  CHECK(malformed(files_of(nothing)["report.html"]) == "");
  CHECK(contains(terminal_table(analyse(nothing)), "0 of 33 trials are done"));

  StudyResults failures = testing::study({1, 2}, {{1}, {1}});
  for (TrialRecord& t : failures.trials) t = testing::failed(t);
  const auto files = files_of(failures);
  CHECK(malformed(files.at("report.html")) == "");
  CHECK(contains(files.at("figure.svg"), ">failed seeds<"));

  const StudyResults one = testing::study({1}, {{0}});
  CHECK(malformed(files_of(one)["report.html"]) == "");
}

TEST_CASE("a study's time is the time in which some trial was trained") {
  StudyResults r;
  const auto add = [&](double begin, double end) {
    TrialRecord t;
    t.seconds = end - begin;
    t.ended = end;
    r.trials.push_back(t);
  };
  CHECK(wall_seconds(r) == 0);
  add(150, 200);  // a pause before it
  add(10, 40);
  add(20, 30);  // next to the one before, and within it
  add(35, 60);
  CHECK(wall_seconds(r) == 100);
  CHECK(training_seconds(r) == 115);
}

TEST_CASE("a trial that two series share is counted once, also where it failed") {
  StudyResults r;
  r.planned = 2;
  TrialRecord shared;
  shared.id = "shared";
  shared.status = TrialStatus::failed;
  shared.seconds = 40;
  for (const char* const series : {"a", "b"}) {
    shared.series = series;
    r.trials.push_back(shared);
  }
  TrialRecord own;
  own.id = "own";
  own.series = "a";
  own.seconds = 20;
  r.trials.push_back(own);
  CHECK(progress_of(r) == "2 of 2 trials done, 1 failed, 60 s of training in total");
}

TEST_CASE("what was read is on the page with its hash") {
  StudyResults r = rich();
  r.data["a <text>.txt"] = "0123abcd";
  CHECK(contains(files_of(r)["report.html"], "a &lt;text&gt;.txt, SHA-256 <code>0123abcd</code>"));
}

TEST_CASE("a folder that cannot be written to is named") {
  const TemporaryFolder folder;
  write_file(folder / "taken", "");
  CHECK(contains(error_of([&] { write_report(analyse(rich()), folder / "taken"); }), (folder / "taken").string()));
}

TEST_CASE("the findings of many studies as Markdown") {
  StudyResults bad = rich();
  bad.id = "another";
  bad.title = "A *bold* | <b>title</b>\nwith `ticks`";
  bad.claims[1].paper = "";
  bad.claims[1].ours = "eight heads are best";
  bad.claims[1].why = "the sweep stops | too early";
  StudyResults none = rich();
  none.id = "not-run";
  none.trials.clear();
  const TemporaryFolder folder;
  const auto written = [&](const std::vector<StudyResults>& studies) {
    write_results(analysed(studies), folder / "found.md");
    return read_bytes(folder / "found.md");
  };
  const std::string index = written({rich(), none, bad});
  CHECK(index == written({bad, rich(), none}));
  CHECK(contains(index, "| [A \\*bold\\* \\| \\<b\\>title\\</b\\> with \\`ticks\\`](found/another.md) |"));
  CHECK(index.find("found/another.md") < index.find("found/not-run.md"));
  CHECK(contains(index, "- Pilots: The paper’s claims: "));
  CHECK(std::count(index.begin(), index.end(), '\n') <= 150);

  const std::string page = read_bytes(folder / "found" / "another.md");
  CHECK(page.starts_with("# A \\*bold\\* \\| \\<b\\>title\\</b\\> with \\`ticks\\`\n"));
  CHECK(contains(
      page,
      "| **pass** in a pilot | paper | as the paper says (D 256) | 1 head 101× \\[81.2, 126\\], 16 heads 19.7× "
      "\\[18.1, 21.4\\] of 4 heads, p = "));
  CHECK(contains(page, "- **fail**: eight heads are best (D 256). After 200 steps, with 4 heads the error is "));
  CHECK(contains(page, "*Why:* the sweep stops \\| too early"));
  CHECK(
      contains(page, "In a pilot (profile quick), the paper’s claims: 1 holds, 1 undecided. Our own claims: 1 fails."));
  CHECK(contains(page, "- 3 trials failed at D 64, heads = 4, and no mean includes them."));
  CHECK(contains(page, "| D 256 | 1.03 ± 0.09 | 0.103 ± 0.009 | 0.0101 ± 0.0004 | 0.0300 ± 0.0012 | 0.200 ± 0.006 |"));
  CHECK(contains(page, "](another.svg)"));
  CHECK(std::filesystem::exists(folder / "found" / "another.svg"));
  CHECK(contains(read_bytes(folder / "found" / "not-run.md"), "0 of 33 trials are done"));
  for (const std::string& text : {index, page}) CHECK_FALSE(contains(text, "\n\n\n"));
  StudyResults medium = rich();
  medium.profile = "medium";
  const std::string both = written({rich(), medium, bad});  // two of profile quick, which keep their names
  CHECK(contains(both, "](found/synthetic.md) | `quick` |"));
  CHECK(contains(both, "](found/synthetic-medium.md) | `medium` |"));
  CHECK(contains(written({rich(), medium}), "](found/synthetic-quick.md) | `quick` |"));
  CHECK(contains(error_of([&] { write_results(analysed({none}), folder / "found"); }),
                 "expected a name with an extension"));
}

TEST_CASE("a long curve stands with its x in rows") {
  StudyResults r = testing::u_curve();
  TrialRecord sample = r.trials.front();
  sample.test["mse"] = 0.5;
  r.trials.clear();
  for (int x = 1; x <= 12; ++x) {
    r.trials.push_back(sample);
    r.trials.back().x = x;
    r.trials.back().id += std::to_string(x);
  }
  const std::string page = as_markdown(study_page({r, {}}, {}));
  CHECK(contains(page, "| heads | MSE |\n"));
  CHECK(contains(page, "| 12 | 0.500 |\n"));
  CHECK_FALSE(contains(page, "| 1 | 2 | 3 |"));
}

TEST_CASE("a page tells what validation said of every rate that was tried") {
  StudyResults r = testing::study({}, {});
  for (const double lr : {0.01, 0.1})
    for (const int64_t seed : {0, 1, 2}) {
      if (lr == 0.1 && seed == 2) continue;  // only the chosen rate has further seeds
      TrialRecord t = testing::trial(4, seed, 0.5);
      t.choice["train.optimizer.lr"] = lr;
      t.id += lr == 0.1 ? "-fast" : "";
      t.validation["mse"] = lr == 0.1 ? (seed == 0 ? 4 : 9) : (seed == 0 ? 1 : seed == 1 ? 4 : 100);
      r.trials.push_back(t);
    }
  r.planned = std::ssize(r.trials);
  const std::string page = as_markdown(study_page({r, {}}, {}));
  CHECK(contains(page, "| heads | 0.01 | 0.1 |\n"));
  CHECK(contains(page, "| 4 | **2.00** | 6.00 |\n"));
  r.trials.back() = testing::failed(r.trials.back());
  CHECK(contains(as_markdown(study_page({r, {}}, {})), "| 4 | **2.00** | failed |\n"));
  std::erase_if(r.trials, [](const TrialRecord& t) { return t.choice.at("train.optimizer.lr") == 0.1; });
  CHECK_FALSE(contains(as_markdown(study_page({r, {}}, {})), "| heads | 0.01 |"));
}

TEST_CASE("what trials were trained with, in a line") {
  StudyResults r = testing::u_curve();
  for (TrialRecord& t : r.trials)
    t.config = R"({"task": {"first_position": 3}, "model": {"width": 64, "layers": 1, "positions": "alibi"},
                   "train": {"steps": 300, "batch": 32, "optimizer": {"kind": "adamw", "lr": 0.01}}})";
  r.trials.back().config = R"({"model": {"width": 256, "layers": 2}, "train": {"steps": 600}})";
  CHECK(settings_line(analyse(r)) ==
        "D 64, 256 · 1, 2 layers · 300, 600 steps of 32 sequences · adamw, learning rates 0.01 · 3 seeds · positions "
        "alibi · "
        "loss from position 3");
  for (TrialRecord& t : r.trials)
    t.config = R"({"task": {}, "model": {"layers": 1, "ffn_width": 0, "norm": "none"}, "train": {}})";
  CHECK(settings_line(analyse(r)) == "1 layer · no feed-forward network · no norm · 3 seeds");
  for (TrialRecord& t : r.trials) t.config = R"({"task": {"kind": "lemma"}})";
  CHECK(settings_line(analyse(r)).empty());
}

TEST_CASE("a report and its table are of one analysis, which computes curves and verdicts once") {
  const TemporaryFolder folder;
  Analysis study = analyse(rich());
  const std::string table = terminal_table(analyse(rich())), verdicts = verdicts_json(analyse(rich()));
  write_report(study, folder.path());
  for (TrialRecord& t : study.trials)  // what is computed from now on has other values
    for (auto* metrics : {&t.validation, &t.test})
      for (auto& [metric, value] : *metrics) value = 1;
  CHECK(terminal_table(study) == table);
  CHECK(verdicts_json(study) == verdicts);
  CHECK(read_bytes(folder / "verdicts.json") == verdicts);
  CHECK_FALSE(terminal_table(analyse(study)) == table);
}

TEST_CASE("what the verdicts are with the second-best rates is said, and which turn") {
  StudyResults r = testing::u_curve();
  r.claims = {claim("interior_optimum"), claim("optimum_at")};
  r.claims[0].log_error = true;
  r.claims[1].keys.among = {4};
  CHECK(second_best(analyse(r)).sentence.empty());
  // Three rates at each x: the smallest trains nothing, the largest is a little worse everywhere than the middle
  // one, and far worse at x = 4.
  const std::vector<TrialRecord> first = r.trials;
  r.trials.clear();
  for (const TrialRecord& t : first)
    for (const double rate : {0.001, 0.01, 0.1}) {
      TrialRecord& trial = r.trials.emplace_back(t);
      trial.id += rate == 0.01 ? "a" : rate == 0.1 ? "b" : "c";
      trial.choice = {{"train.optimizer.lr", rate}};
      if (rate != 0.01)
        for (auto& [metric, value] : trial.test) value *= rate == 0.001 ? 1e4 : t.x == 4 ? 20 : 1.5;
      for (const auto& [metric, value] : trial.test) trial.validation[metric] = 1.01 * value;  // other items
    }
  r.planned = count_trials(r.trials);
  const StudyResults others = without_first_choices(analyse(r));
  CHECK(others.trials.size() == 2 * first.size());
  for (const TrialRecord& t : others.trials) CHECK(t.choice.at("train.optimizer.lr") != 0.01);
  const std::vector<Verdict> verdicts = judge(r);
  REQUIRE(verdicts[0].status == VerdictStatus::pass);
  REQUIRE(verdicts[1].status == VerdictStatus::pass);
  const SecondBest second = second_best(analyse(r));
  CHECK(second.sentence ==
        "With the second-best value of lr at every x, 1 of 2 decided verdicts keeps its side of the threshold.");
  CHECK(second.turned[0].empty());
  CHECK(second.turned[1].starts_with("turns at the second-best lr: "));
  CHECK(contains(files_of(r)["report.html"], "<span class=\"badge\">turns at the second-best lr: "));
  CHECK(contains(files_of(r)["report.html"], "With the second-best value of lr at every x"));
  CHECK(contains(terminal_table(analyse(r)), "\n            Turns at the second-best lr: "));
  CHECK(contains(terminal_table(analyse(r)), "\n\n" + second.sentence + "\n\n"));
}

}  // namespace headroom::experiments
