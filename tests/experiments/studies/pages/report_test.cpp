#include "experiments/studies/pages/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "experiments/output/file.h"
#include "experiments/output/number.h"
#include "experiments/output/plot/axis.h"
#include "experiments/output/plot/gnuplot.h"
#include "experiments/output/plot/plot_layout.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/results_page.h"
#include "experiments/studies/pages/set_up.h"
#include "experiments/studies/pages/verdict_change.h"
#include "tests/experiments/studies/pages/folder.h"
#include "tests/experiments/studies/pages/rich.h"
#include "tests/experiments/studies/pages/xml.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::claim;
using testing::contains;
using testing::Environment;
using testing::error_of;
using testing::malformed;
using testing::read_bytes;
using testing::rich;
using testing::TemporaryFolder;
using testing::times;

std::map<std::string, std::string> files_of(const StudyResults& results) {
  const TemporaryFolder folder;
  CHECK(write_report(results, folder / "runs" / "quick") == folder / "runs" / "quick" / "report.html");
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "runs" / "quick"))
    files[entry.path().filename().string()] = read_bytes(entry.path());
  return files;
}

}  // namespace

TEST_CASE("a heat map compares values of a choice over the seeds that all of them have") {
  StudyResults r = testing::study({}, {});
  for (const double x : {1.0, 2.0, 4.0})
    for (const double lr : {0.01, 0.02})
      for (int seed = 0; seed < (lr == 0.02 ? 6 : 2);
           ++seed) {  // the chosen one has seeds of later rounds, which are bad
        TrialRecord t = testing::trial(x, seed, seed < 2 ? (lr == 0.02 ? 0.1 : 0.2) : 0.9);
        t.choice = {{"train.optimizer.lr", lr}};
        t.id += std::to_string(lr);
        r.trials.push_back(t);
      }
  r.planned = std::ssize(r.trials);
  const std::optional<Figure> map = heat_map(r, "");
  REQUIRE(map);
  CHECK(testing::contains(map->plot.description, "heads = 1, lr = 0.02: 0.100, chosen."));
  CHECK(testing::contains(map->plot.description, "heads = 1, lr = 0.01: 0.200."));
}

TEST_CASE("of many series the first are drawn, and the tables hold all") {
  StudyResults r = testing::u_curve();
  const std::vector<TrialRecord> curve = r.trials;
  r.trials.clear();
  r.claims.clear();
  for (int i = 0; i < 30; ++i) {
    r.series.push_back("series " + std::to_string(i));
    for (TrialRecord trial : curve) {
      trial.series = r.series.back();
      trial.id += trial.series;
      r.trials.push_back(trial);
    }
  }
  r.planned = std::ssize(r.trials);
  CHECK(study_figures(r).size() == most_series_drawn + 1);
  if (!find_gnuplot()) return;
  auto files = files_of(r);
  CHECK(contains(files["report.html"], "Figures show the first 24 of 30 series."));
  CHECK(contains(files["results.csv"], "series 29"));
  CHECK(contains(files["report.html"], "series 29"));
}

TEST_CASE("series that are too many for one figure are drawn in the groups that their names tell") {
  StudyResults r = testing::u_curve();
  const std::vector<TrialRecord> curve = r.trials;
  r.trials.clear();
  r.claims.clear();
  const auto add = [&](const std::string& name) {
    r.series.push_back(name);
    for (TrialRecord trial : curve) {
      trial.series = name;
      trial.id += name;
      r.trials.push_back(trial);
    }
    r.planned = std::ssize(r.trials);
  };
  for (const char* const positions : {"none", "RoPE", "ALiBi", "learned"}) add(std::string("copy, ") + positions);
  for (const char* const positions : {"RoPE", "ALiBi", "learned", "none"}) add(std::string("sums, ") + positions);
  CHECK(series_groups(r).size() == 1);  // eight colours for eight series
  add("sums, sinusoidal");
  const std::vector<SeriesGroup> groups = series_groups(r);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "copy");
  CHECK(groups[1].series.size() == 5);
  CHECK(groups[1].labels[0] == "RoPE");
  CHECK(groups[1].colours[0] == groups[0].colours[1]);  // RoPE looks the same in both
  const std::vector<Figure> figures = study_figures(r);
  CHECK(figures[0].is_main);
  CHECK(figures[1].is_main);
  CHECK_FALSE(figures[2].is_main);
  CHECK(figures[1].plot.id == "figure-mse-sums");
  CHECK(figures[1].plot.layers[0].legend == "RoPE");
  CHECK(contains(figures[1].plot.title, "sums: "));
  const std::string page =
      as_markdown(study_page({r, {}}, {{"one", "first words", "a.svg"}, {"two", "second words", "a-2.svg"}}));
  CHECK(contains(page, "![one](a.svg)\n\nfirst words\n\n![two](a-2.svg)\n\nsecond words\n\n"));
  add("alone, RoPE");
  CHECK(series_groups(r).size() == 1);  // a figure of one series would compare nothing
  if (!find_gnuplot()) return;
  r.series.pop_back();
  std::erase_if(r.trials, [](const TrialRecord& trial) { return trial.series == "alone, RoPE"; });
  r.planned = std::ssize(r.trials);
  const std::string html = files_of(r)["report.html"];
  CHECK(html.find("data-name=\"figure-mse-copy\"") < html.find("data-name=\"figure-mse-sums\""));
  CHECK(html.find("data-name=\"figure-mse-sums\"") < html.find("id=\"verdicts\""));
}

TEST_CASE("a report has a page, figures, data, config and verdicts") {
  auto files = files_of(rich());
  const bool drawn = find_gnuplot().has_value();
  CHECK(files.size() == (drawn ? 15U : 6U));
  const std::string& page = files["report.html"];
  CHECK(malformed(page) == "");
  CHECK(contains(page, "33 of 33 trials done, 3 failed"));
  CHECK(contains(page, "After 200 steps, at heads = 1 the error is 101× ["));
  CHECK(contains(page, "<span class=\"status\">fail</span>"));
  CHECK(contains(page, "After 200 steps, the smallest error is at heads = 4; it is 0.339× ["));
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

TEST_CASE("figures are drawn, labelled and painted") {
  if (!find_gnuplot()) return headroom::testing::skip("no gnuplot");
  auto files = files_of(rich());
  for (const char* name : {"figure-d-256.svg", "figure-d-64.svg"}) {
    CAPTURE(name);
    const std::string& svg = files[name];
    CHECK(malformed(svg) == "");
    CHECK(contains(svg, "role=\"img\""));
    CHECK(contains(svg, "<desc id=\"figure-d-"));
    CHECK(contains(svg, "The geometric mean over seeds is"));
    CHECK(contains(svg, "class=\"layer-0 interval\""));
    CHECK(contains(svg, "class=\"layer-0 seeds\""));
    CHECK_FALSE(contains(svg, "var(--"));  // a file stands alone
    CHECK_FALSE(contains(svg, "rgb("));    // no stand-in colour is left
  }
  CHECK(contains(files["figure-d-256.svg"],
                 "MSE against heads. The geometric mean over seeds is 1.03 at heads = 1, 0.200 at heads = 16"));
  CHECK(contains(files["figure-d-256.svg"], ">bound<"));
  CHECK_FALSE(contains(files["figure-d-64.svg"], "bound"));
  CHECK(contains(files["figure-d-64.svg"], ">failed seeds<"));
  const std::string& page = files["report.html"];
  CHECK(contains(page, "var(--c0)"));
  for (const char* stand_in : {"rgb(  1,", "rgb(  2,", "rgb(  5,", "rgb( 17,", "rgb(17,"})
    CHECK_FALSE(contains(page, stand_in));
  CHECK_FALSE(contains(page, "onmouse"));
  CHECK_FALSE(contains(page, "Figures are missing"));
  CHECK(contains(page, "<title>heads = 4: 0.0101 ["));
  CHECK(contains(page, "<title>heads = 2, lr = 0.02: "));
  CHECK(contains(page, "<title>D 256, heads = 4: 0.990 ["));
  for (const char* name : {"figure-mse.svg", "figure-accuracy.svg", "figure-heat-map-d-64.svg",
                           "figure-learning-d-64.svg", "figure-predictions-d-256.svg"}) {
    CAPTURE(name);
    CHECK(malformed(files[name]) == "");
    CHECK(contains(files[name], "class=\"mark\""));
    CHECK(contains(page, name));
  }
  CHECK(files.count("figure-heat-map-d-256.svg") == 0);  // nothing was chosen there
  // An id twice would make one figure borrow another's marks.
  CHECK(times(page, " id=\"figure-d-64-title\"") == 1);
}

TEST_CASE("the paper's optimum is marked, a bound has a panel of its own, and both scales are there") {
  StudyResults r = rich();
  const Plot plot = curve_figure(r, "D 256")->plot;
  REQUIRE(plot.guides.size() == 1);  // optimum_at [8]
  CHECK(plot.guides[0].x == 8);
  CHECK(plot.guides[0].label == "paper’s best: 8");
  REQUIRE(plot.below.size() == 1);
  CHECK(plot.below[0].y_label == "bound");
  CHECK(plot.below[0].x.low == plot.x.low);
  CHECK(plot.below[0].layers[0].marks.size() == 5);  // those beyond the measured x are not drawn
  REQUIRE(plot.other_y);
  CHECK(plot.y.scale == Scale::log10);
  CHECK(plot.other_y->scale == Scale::linear);
  const Mark& mark = plot.layers[0].marks[2];
  CHECK(mark.seeds == std::vector<double>{0.010, 0.011, 0.0095});
  CHECK(mark.low < mark.y);
  CHECK(mark.high > mark.y);
  CHECK(contains(plot_csv(plot), "line,heads,MSE,low,high,seeds\ngeometric mean,1,1.02"));
  CHECK(contains(plot_csv(plot), "line,heads,bound,low,high,seeds\n,1,4,,,\n"));
  for (ClaimConfig& claim : r.claims) claim.paper.clear(), claim.ours = "ours";
  CHECK(curve_figure(r, "D 256")->plot.guides.empty());
}

TEST_CASE("names of lines are whole, apart and within the figure") {
  StudyResults r = testing::u_curve();
  const std::vector<TrialRecord> curve = r.trials;
  r.trials.clear();
  for (const char* name : {"queries and keys 8 wide, values D/H", "values 8 wide, queries and keys D/H", "D 64"}) {
    r.series.emplace_back(name);
    for (TrialRecord trial : curve) {
      trial.series = name;
      r.trials.push_back(trial);
    }
  }
  const Plot plot = comparison_figure(r, {{"mse", "MSE", Scale::log10}, {}}, series_groups(r)[0])->plot;
  const Layout layout = layout_of(plot, plot.y, Format::wide);
  std::map<std::string, std::string> names;
  std::vector<double> baselines;
  for (const svg::Text& text : layout.texts) {
    if (text.classes.empty()) continue;
    names[text.classes] += (names[text.classes].empty() ? "" : " ") + text.text;
    CHECK(text.x + width_of(text.text) * layout.font <= layout.width);
    CHECK(text.y <= layout.height);
    baselines.push_back(text.y);
  }
  CHECK(names.at("layer-0") == r.series[0]);
  CHECK(names.at("layer-1") == r.series[1]);
  CHECK(names.at("layer-2") == "D 64");
  std::sort(baselines.begin(), baselines.end());
  for (size_t i = 1; i < baselines.size(); ++i) CHECK(baselines[i] - baselines[i - 1] > layout.font);
}

TEST_CASE(
    "four lines at most are drawn together, the others small on the same axes, with the ratios that are the finding") {
  StudyResults r = testing::u_curve();
  const std::vector<TrialRecord> curve = r.trials;
  r.trials.clear();
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    r.series.emplace_back(name);
    for (TrialRecord trial : curve) {
      trial.series = name;
      trial.id += name;
      r.trials.push_back(trial);
    }
  }
  r.planned = std::ssize(r.trials);
  r.claims = {testing::claim("interior_optimum"), testing::claim("worse_than_best", {.at = 4})};
  r.claims[0].series = "f";
  r.claims[1].series = "e";
  const auto drawn = [&] {
    return comparison_figure(r, {{"mse", "MSE", Scale::log10}, {}}, series_groups(r)[0])->plot;
  };
  const auto names = [](const std::vector<Layer>& layers) {
    std::string text;
    for (const Layer& layer : layers) text += layer.legend + ";";
    return text;
  };
  const Plot plot = drawn();
  CHECK(names(plot.layers) == "a;b;e;f;");  // what claims speak of, then the first
  REQUIRE(plot.small.size() == 2);
  CHECK(plot.small[1].layers.at(0).legend == "d");
  CHECK(plot.small[0].x.high == plot.x.high);
  CHECK(plot.small[0].y.high == plot.y.high);
  REQUIRE(plot.notes.size() == 3);
  CHECK(plot.notes[0].x == 1);
  CHECK(plot.notes[0].text == "101×");
  CHECK(plot.notes[1].x == 16);
  CHECK(plot.notes[1].text == "19.7×");
  CHECK(plot.notes[2].below);  // better than the best of the others
  CHECK(contains(plot_csv(plot), "\nd,16,"));
  r.report.lines = {{"b", "in words"}, {"c", "c"}, {"d", "d"}, {"e", "e"}, {"a", "apart"}};
  CHECK(names(drawn().layers) == "in words;c;d;e;");
  CHECK(drawn().small.at(0).layers.at(0).legend == "apart");
  if (const auto gnuplot = find_gnuplot()) CHECK(contains(draw(*gnuplot, plot).wide, "class=\"layer-5\""));
}

TEST_CASE("labels of ticks that would touch are left out, powers of two last") {
  Layout layout;
  layout.font = 14;
  layout.left = 0;
  layout.right = 600;
  const Axis x{Scale::log2, 1, 64, {1, 2, 4, 8, 15, 16, 30, 32, 60, 64}, {}};
  const std::vector<std::string> whole = {"1", "2", "4", "8", "", "16", "", "32", "", "64"};
  CHECK(legible_x(x, layout).labels == whole);
  CHECK(legible_x(x, layout).ticks == x.ticks);
  layout.right = 6000;
  CHECK(legible_x(x, layout).labels[4] == "15");
  layout.right = 100;
  CHECK(legible_x({Scale::log2, 1, 64, {1, 2, 4, 8, 16, 32, 64}, {}}, layout).labels ==
        std::vector<std::string>{"1", "", "4", "", "16", "", "64"});
}

TEST_CASE("text is wrapped between words, and only what is too long for all lines is cut") {
  using Lines = std::vector<std::string>;
  CHECK(label_lines("one two three", 100, 3) == Lines{"one two three"});
  CHECK(label_lines("one two three", 5, 3) == Lines{"one two", "three"});
  CHECK(label_lines("", 5, 3).empty());
  const Lines cut = label_lines(std::string(50, 'W'), 10, 2);
  REQUIRE(cut.size() == 2);
  CHECK(cut[0] == std::string(10, 'W'));
  CHECK(cut[1] == std::string(9, 'W') + "…");
  CHECK(label_lines("äöü", 1, 3) == Lines{"ä", "ö", "ü"});
}

TEST_CASE("a metric over another stands at what the trials of each x measured") {
  StudyResults r = rich();
  r.report.also = {{{"accuracy", "accuracy"}, Measure{"forward_ms", "milliseconds"}}};
  const std::optional<Figure> figure = comparison_figure(r, r.report.also[0], series_groups(r)[0]);
  REQUIRE(figure);
  CHECK(figure->plot.id == "figure-accuracy-over-forward_ms");
  CHECK(figure->plot.x_label == "milliseconds");
  const auto& marks = figure->plot.layers.at(0).marks;
  REQUIRE(marks.size() == 5);
  for (size_t i = 0; i < marks.size(); ++i) {
    CHECK(marks[i].x == Approx(3 + std::pow(2.0, static_cast<double>(i)) / 4));  // what rich() makes of x = 1, 2, 4, …
    if (i > 0) CHECK(marks[i].x > marks[i - 1].x);
  }
  CHECK(figure->plot.layers.size() == 2);
}

TEST_CASE("without gnuplot the page has the tables and says so") {
  const Environment path("PATH", "");
  const TemporaryFolder folder;
  make_folder(folder.path());
  write_file(folder / "figure-d-64.svg", "of an earlier report");
  write_report(rich(), folder.path());
  const std::string page = read_bytes(folder / "report.html");
  CHECK(malformed(page) == "");
  CHECK(contains(page, "gnuplot is not installed"));
  CHECK(contains(page, "<table class=\"sort\">"));
  CHECK_FALSE(contains(page, "figure-d-64.svg"));
  CHECK_FALSE(std::filesystem::exists(folder / "figure-d-64.svg"));
}

TEST_CASE("nothing depends on the order in which trials ended") {
  StudyResults r = rich();
  const auto before = files_of(r);
  const std::string table = terminal_table(r);
  std::mt19937 random(5);
  for (int i = 0; i < 2; ++i) {
    std::shuffle(r.trials.begin(), r.trials.end(), random);
    CHECK(files_of(r) == before);
    CHECK(terminal_table(r) == table);
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
  if (find_gnuplot()) CHECK_FALSE(contains(files["report.html"], "Figures are missing"));
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
      INFO(v.claim.kind->name << (v.claim.log_error ? " on logs: " : ": ") << v.sentence);
      CHECK_FALSE(contains(v.sentence + v.summary, "nan"));
      CHECK_FALSE(contains(v.sentence, "p = 0 "));
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
  CHECK(contains(terminal_table(nothing), "0 of 33 trials are done"));

  StudyResults failures = testing::study({1, 2}, {{1}, {1}});
  for (TrialRecord& t : failures.trials) t = testing::failed(t);
  const auto files = files_of(failures);
  CHECK(malformed(files.at("report.html")) == "");
  if (find_gnuplot()) CHECK(contains(files.at("figure.svg"), ">failed seeds<"));

  const StudyResults one = testing::study({1}, {{0}});
  CHECK(malformed(files_of(one)["report.html"]) == "");
}

TEST_CASE("values that a logarithmic axis cannot hold") {
  StudyResults r = testing::study({0, 1, 2}, {{0, 0}, {1, 2}, {3, 4}});
  r.report.x_scale = Scale::log2;
  r.report.y_scale = Scale::log10;
  const auto files = files_of(r);
  if (!find_gnuplot()) return headroom::testing::skip("no gnuplot");
  CHECK(contains(files.at("report.html"), "<svg"));
}

TEST_CASE("axes") {
  const Axis decades = fit_axis(Scale::log10, {0.00008, 0.02});
  CHECK(decades.low < 0.00008);
  CHECK(decades.high > 0.02);
  CHECK(decades.ticks == std::vector<double>{1e-4, 1e-3, 1e-2});
  CHECK(contains(axis_commands(decades, "y"), "set ytics ('10⁻⁴' 0.0001, '10⁻³' 0.001, '10⁻²' 0.01)"));
  const Axis small = fit_axis(Scale::log10, {8e-6, 2.5e-4});  // one way of writing for all labels
  CHECK(contains(axis_commands(small, "y"),
                 "set ytics ('10⁻⁵' 1e-05, '2·10⁻⁵' 2e-05, '5·10⁻⁵' 5e-05, '10⁻⁴' 0.0001, '2·10⁻⁴' 0.0002)"));
  CHECK(fit_axis(Scale::linear, {0.1, 2}).low == 0);  // it nearly reaches zero
  CHECK(fit_axis(Scale::linear, {-0.1, 2}).low < -0.1);
  CHECK(fit_axis(Scale::linear, {0.9, 2}).low > 0.5);
  CHECK(fit_axis(Scale::log10, {0.9, 5}).ticks == std::vector<double>{1, 2, 5});
  CHECK(fit_axis(Scale::log10, {230, 872}).ticks == std::vector<double>{300, 400, 500, 600, 800});
  CHECK(fit_axis(Scale::log10, {1.74, 1.98}).ticks == std::vector<double>{1.6, 1.8, 2, 2.2});
  CHECK(fit_axis(Scale::log2, {1, 8}).ticks == std::vector<double>{1, 2, 4, 8});
  CHECK(fit_axis(Scale::log2, {8, 8}).ticks == std::vector<double>{8});
  CHECK(fit_axis(Scale::log10, {-1, 5}).scale == Scale::linear);
  CHECK(fit_axis(Scale::log10, {0, 0}).scale == Scale::linear);
  const Axis foot = fit_axis(Scale::log10, {0, 5, 50});  // 0 stands below the least that is more
  CHECK((foot.scale == Scale::log10 && foot.low > 1 && foot.low < 2.5));
  const Axis flat = fit_axis(Scale::linear, {3, 3});
  CHECK(flat.low < 3);
  CHECK(flat.high > 3);
  CHECK(contains(error_of([] { fit_axis(Scale::linear, {}); }), "without values"));
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
  CHECK(progress_of(r) == "2 of 2 trials done, 1 failed, 60 s of training, all trials added up");
}

TEST_CASE("what was read is on the page with its hash") {
  StudyResults r = rich();
  r.data["a <text>.txt"] = "0123abcd";
  CHECK(contains(files_of(r)["report.html"], "a &lt;text&gt;.txt, SHA-256 <code>0123abcd</code>"));
}

TEST_CASE("a folder that cannot be written to is named") {
  const TemporaryFolder folder;
  write_file(folder / "taken", "");
  CHECK(contains(error_of([&] { write_report(rich(), folder / "taken"); }), (folder / "taken").string()));
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
    write_results(studies, folder / "found.md");
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
  CHECK(contains(page,
                 "| **pass** in a pilot | paper | as the paper says (D 256) | 101× \\[81.2, 126\\] / 19.7× \\[18.1, "
                 "21.4\\], p = "));
  CHECK(
      contains(page, "- **fail**: eight heads are best (D 256). After 200 steps, the smallest error is at heads = 4"));
  CHECK(contains(page, "*Why:* the sweep stops \\| too early"));
  CHECK(
      contains(page, "In a pilot (profile quick), the paper’s claims: 1 holds, 1 undecided. Our own claims: 1 fails."));
  CHECK(contains(page, "- 3 trials failed at D 64, heads = 4, and no mean includes them."));
  CHECK(contains(page, "| D 256 | 1.03 ± 0.09 | 0.103 ± 0.009 | 0.0101 ± 0.0004 | 0.0300 ± 0.0012 | 0.200 ± 0.006 |"));
  CHECK(contains(page, "](another.svg)") == find_gnuplot().has_value());
  CHECK(std::filesystem::exists(folder / "found" / "another.svg") == find_gnuplot().has_value());
  CHECK(contains(read_bytes(folder / "found" / "not-run.md"), "0 of 33 trials are done"));
  for (const std::string& text : {index, page}) CHECK_FALSE(contains(text, "\n\n\n"));
  StudyResults medium = rich();
  medium.profile = "medium";
  const std::string both = written({rich(), medium, bad});  // two of profile quick, which keep their names
  CHECK(contains(both, "](found/synthetic.md) | `quick` |"));
  CHECK(contains(both, "](found/synthetic-medium.md) | `medium` |"));
  CHECK(contains(written({rich(), medium}), "](found/synthetic-quick.md) | `quick` |"));
  CHECK(contains(error_of([&] { write_results({none}, folder / "found"); }), "expected a name with an extension"));
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
  CHECK(settings_line(r) ==
        "D 64, 256 · 1, 2 layers · 300, 600 steps of 32 sequences · adamw, learning rates 0.01 · 3 seeds · positions "
        "alibi · "
        "loss from position 3");
  for (TrialRecord& t : r.trials)
    t.config = R"({"task": {}, "model": {"layers": 1, "ffn_width": 0, "norm": "none"}, "train": {}})";
  CHECK(settings_line(r) == "1 layer · no feed-forward network · no norm · 3 seeds");
  for (TrialRecord& t : r.trials) t.config = R"({"task": {"kind": "lemma"}})";
  CHECK(settings_line(r).empty());
}

TEST_CASE("what the verdicts are with the second-best rates is said, and which turn") {
  StudyResults r = testing::u_curve();
  r.claims = {claim("interior_optimum"), claim("optimum_at")};
  r.claims[0].log_error = true;
  r.claims[1].keys.among = {4};
  CHECK(second_best(r, judge(r)).sentence.empty());
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
  const StudyResults others = without_first_choices(r);
  CHECK(others.trials.size() == 2 * first.size());
  for (const TrialRecord& t : others.trials) CHECK(t.choice.at("train.optimizer.lr") != 0.01);
  const std::vector<Verdict> verdicts = judge(r);
  REQUIRE(verdicts[0].status == VerdictStatus::pass);
  REQUIRE(verdicts[1].status == VerdictStatus::pass);
  const SecondBest second = second_best(r, verdicts);
  CHECK(second.sentence ==
        "With the second-best value of lr at every x, 1 of 2 decided verdicts keeps its side of the threshold.");
  CHECK(second.turned[0].empty());
  CHECK(second.turned[1].starts_with("turns at the second-best lr: "));
  CHECK(contains(files_of(r)["report.html"], "<span class=\"badge\">turns at the second-best lr: "));
  CHECK(contains(files_of(r)["report.html"], "With the second-best value of lr at every x"));
}

TEST_CASE("the table on the terminal") {
  StudyResults r = testing::u_curve();
  r.claims = {claim("interior_optimum"), claim("optimum_at")};
  r.claims[0].log_error = true;
  r.claims[1].keys.among = {4};
  const std::string table = terminal_table(r), verbose = terminal_table(r, {.is_verbose = true});
  CHECK(
      table.starts_with("The paper’s claims: 2 hold.\n\n"
                        "pass        as the paper says\n"
                        "            1 head 101× [81.2, 126] · 16 heads 19.7× ["));
  CHECK(contains(table,
                 "] · of 4 heads · needs > 1×\n"
                 "pass        as the paper says\n"
                 "            best: 4 heads · 8 heads 2.95× ["));
  CHECK(
      table.ends_with("\n\n"
                      "heads        1        2        4        8       16\n"
                      "mse       1.03    0.103   0.0101   0.0300    0.200\n"
                      "    ±   0.0862  0.00862  4.36e-4  0.00115  0.00577\n"
                      "\n"
                      "± standard error over seeds; geometric means, which claims compare: mse\n"
                      "\n"
                      "[ ] confidence intervals at 96.7 to 97.5 %, as each test needs\n"));
  CHECK_FALSE(contains(table, "p = "));
  CHECK(contains(verbose, "            At heads = 1 the error is 101× [81.2, 126] that at heads = 4"));
  CHECK(contains(verbose, "That holds (p = 0.003, by Holm over 2 claims)."));
  CHECK(contains(terminal_table(r, {.columns = 80, .has_colours = true}), "\n\x1b[32mpass\x1b[0m        as the paper"));
  const std::string several = terminal_table(rich());
  CHECK(contains(several, "D 64\nheads"));
  CHECK(contains(several, "\naccuracy "));
  CHECK(contains(several, "lr"));
  CHECK(contains(terminal_table(rich()), "0.01!"));
  CHECK(contains(terminal_table(rich()), "failed"));
}

TEST_CASE("verdicts fit terminals of 60, 80 and 120 columns, and break between their numbers") {
  StudyResults r = testing::u_curve();
  r.claims = {claim("interior_optimum")};
  r.claims[0].paper = "one head is too few for the task, and heads of width 1 are too narrow for any of it";
  r.claims[0].keys.factor = 1.1;
  const auto shown = [&](int columns) {
    const std::string text = terminal_table(r, {.columns = columns});
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
      CHECK(display_width(text.substr(at, end - at)) <= static_cast<size_t>(columns));
    const size_t verdict = text.find("pass ");
    return text.substr(verdict, text.find("\n\n", verdict) - verdict);
  };
  CHECK(shown(60) ==
        "pass        one head is too few for the task, and heads of\n"
        "            width 1 are too narrow for any of it\n"
        "            1 head 101× [81.2, 126]\n"
        "            16 heads 19.7× [18.1, 21.4] · of 4 heads\n"
        "            needs ≥ 1.1×");
  CHECK(shown(80) ==
        "pass        one head is too few for the task, and heads of width 1 are too\n"
        "            narrow for any of it\n"
        "            1 head 101× [81.2, 126] · 16 heads 19.7× [18.1, 21.4] · of 4 heads\n"
        "            needs ≥ 1.1×");
  CHECK(shown(120) ==
        "pass        one head is too few for the task, and heads of width 1 are too narrow for any of it\n"
        "            1 head 101× [81.2, 126] · 16 heads 19.7× [18.1, 21.4] · of 4 heads · needs ≥ 1.1×");
}

TEST_CASE("a verdict that is left open says on a terminal what would decide it") {
  StudyResults r = testing::study({1, 2}, {{1, 1.1, 1.2}, {2, 2.2, 2.41}});
  r.claims = {claim("less_than", {.at = 1, .than = {.at = 2}})};
  r.claims[0].keys.factor = 2.005;  // between the seeds' ratios
  r.claims[0].log_error = true;
  CHECK(contains(terminal_table(r), "\n            1 head 1.10 · 2.20 for heads = 2 · 0.49"));
  CHECK(contains(terminal_table(r), " · needs ≤ 0.499×\n            About "));
  CHECK(contains(terminal_table(r), " seeds would decide.\n"));
  for (TrialRecord& t : r.trials) t.test["relative_mse"] = t.test["mse"], t.validation["relative_mse"] = t.test["mse"];
  r.report.y_metric = "relative_mse";
  CHECK(contains(terminal_table(r), "\n            Nothing was learned here, as even the least error leaves 1.10"));
}

}  // namespace headroom::experiments
