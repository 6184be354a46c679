// What is drawn of a study, and where names, labels and ticks stand.
#include "experiments/studies/pages/report.h"

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"
#include "experiments/output/plot/axis.h"
#include "experiments/output/plot/plot_layout.h"
#include "experiments/output/plot/svg.h"
#include "experiments/output/plot/text_width.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/results_page.h"
#include "tests/experiments/studies/pages/folder.h"
#include "tests/experiments/studies/pages/rich.h"
#include "tests/experiments/studies/pages/xml.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
using namespace testing;

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
  const std::optional<Figure> map = heat_map(analyse(r), "");
  REQUIRE(map);
  CHECK(testing::contains(map->plot.description, "heads = 1, lr = 0.02: 0.100, chosen."));
  CHECK(testing::contains(map->plot.description, "heads = 1, lr = 0.01: 0.200."));
}

TEST_CASE("of many series the first are drawn, and the tables hold all") {
  StudyResults r = testing::u_curve();
  r.trials.clear();
  r.claims.clear();
  for (int i = 0; i < 30; ++i) add_curve(r, "series " + std::to_string(i));
  CHECK(study_figures(analyse(r)).size() == most_series_drawn + 1);
  auto files = files_of(r);
  CHECK(contains(files["report.html"], "Figures show the first 24 of 30 series."));
  CHECK(contains(files["results.csv"], "series 29"));
  CHECK(contains(files["report.html"], "series 29"));
}

TEST_CASE("series that are too many for one figure are drawn in the groups that their names tell") {
  StudyResults r = testing::u_curve();
  r.trials.clear();
  r.claims.clear();
  for (const std::string positions : {"none", "RoPE", "ALiBi", "learned"}) add_curve(r, "copy, " + positions);
  for (const std::string positions : {"RoPE", "ALiBi", "learned", "none"}) add_curve(r, "sums, " + positions);
  CHECK(series_groups(r).size() == 1);  // eight colours for eight series
  add_curve(r, "sums, sinusoidal");
  const std::vector<SeriesGroup> groups = series_groups(r);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "copy");
  CHECK(groups[1].series.size() == 5);
  CHECK(groups[1].labels[0] == "RoPE");
  CHECK(groups[1].colours[0] == groups[0].colours[1]);  // RoPE looks the same in both
  const std::vector<Figure> figures = study_figures(analyse(r));
  CHECK(figures[0].is_main);
  CHECK(figures[1].is_main);
  CHECK_FALSE(figures[2].is_main);
  CHECK(figures[1].plot.id == "figure-mse-sums");
  CHECK(figures[1].plot.layers[0].legend == "RoPE");
  CHECK(contains(figures[1].plot.title, "sums: "));
  const std::string page =
      as_markdown(study_page({r, {}}, {{"one", "first words", "a.svg"}, {"two", "second words", "a-2.svg"}}));
  CHECK(contains(page, "![one](a.svg)\n\nfirst words\n\n![two](a-2.svg)\n\nsecond words\n\n"));
  add_curve(r, "alone, RoPE");
  CHECK(series_groups(r).size() == 1);  // a figure of one series would compare nothing
  r.series.pop_back();
  std::erase_if(r.trials, [](const TrialRecord& trial) { return trial.series == "alone, RoPE"; });
  r.planned = std::ssize(r.trials);
  const std::string html = files_of(r)["report.html"];
  CHECK(html.find("data-name=\"figure-mse-copy\"") < html.find("data-name=\"figure-mse-sums\""));
  CHECK(html.find("data-name=\"figure-mse-sums\"") < html.find("id=\"verdicts\""));
}

TEST_CASE("figures are drawn, labelled and painted") {
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
  }
  CHECK(contains(files["figure-d-256.svg"],
                 "MSE against heads. The geometric mean over seeds is 1.03 at heads = 1, 0.200 at heads = 16"));
  CHECK(contains(files["figure-d-256.svg"], ">bound<"));
  CHECK_FALSE(contains(files["figure-d-64.svg"], "bound"));
  CHECK(contains(files["figure-d-64.svg"], ">failed seeds<"));
  const std::string& page = files["report.html"];
  CHECK(contains(page, "var(--c0)"));
  CHECK_FALSE(contains(page, "onmouse"));
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
  const Plot plot = curve_figure(analyse(r), "D 256")->plot;
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
  CHECK(curve_figure(analyse(r), "D 256")->plot.guides.empty());
}

TEST_CASE("names of lines are whole, apart and within the figure") {
  StudyResults r = testing::u_curve();
  r.trials.clear();
  for (const char* name : {"queries and keys 8 wide, values D/H", "values 8 wide, queries and keys D/H", "D 64"})
    add_curve(r, name);
  const Plot plot = comparison_figure(analyse(r), {{"mse", "MSE", Scale::log10}, {}}, series_groups(r)[0])->plot;
  const Layout layout = layout_of(plot, plot.y, Format::wide);
  std::map<std::string, std::string> names;
  std::vector<double> baselines;
  for (const Label& text : layout.labels) {
    if (text.classes == "note") continue;
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
  r.trials.clear();
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) add_curve(r, name);
  r.claims = {testing::claim("interior_optimum"), testing::claim("worse_than_best", {.at = 4})};
  r.claims[0].series = "f";
  r.claims[1].series = "e";
  const auto drawn = [&] {
    return comparison_figure(analyse(r), {{"mse", "MSE", Scale::log10}, {}}, series_groups(r)[0])->plot;
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
  r.report.lines = {"b", "c", "d", "e", "a"};
  CHECK(names(drawn().layers) == "b;c;d;e;");
  CHECK(drawn().small.at(0).layers.at(0).legend == "a");
  CHECK(contains(svg_of(plot), "class=\"layer-5\""));
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
  const std::optional<Figure> figure = comparison_figure(analyse(r), r.report.also[0], series_groups(r)[0]);
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

TEST_CASE("values that a logarithmic axis cannot hold") {
  StudyResults r = testing::study({0, 1, 2}, {{0, 0}, {1, 2}, {3, 4}});
  r.report.x_scale = Scale::log2;
  r.report.y_scale = Scale::log10;
  const auto files = files_of(r);
  CHECK(contains(files.at("report.html"), "<svg"));
}

TEST_CASE("axes") {
  const Axis decades = fit_axis(Scale::log10, {0.00008, 0.02});
  CHECK(decades.low < 0.00008);
  CHECK(decades.high > 0.02);
  CHECK(decades.ticks == std::vector<double>{1e-4, 1e-3, 1e-2});
  const auto texts = [](const Axis& axis) {
    std::string out;
    for (size_t i = 0; i < axis.ticks.size(); ++i) out += tick_text(axis, i) + " ";
    return out;
  };
  CHECK(texts(decades) == "10⁻⁴ 10⁻³ 10⁻² ");
  const Axis small = fit_axis(Scale::log10, {8e-6, 2.5e-4});  // one way of writing for all labels
  CHECK(texts(small) == "10⁻⁵ 2·10⁻⁵ 5·10⁻⁵ 10⁻⁴ 2·10⁻⁴ ");
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

}  // namespace headroom::experiments
