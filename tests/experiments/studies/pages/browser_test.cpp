#include <cstdlib>

#include "engine/error.h"
#include "experiments/studies/pages/report.h"
#include "experiments/tools/plan/answer.h"
#include "experiments/tools/plan/plan_page.h"
#include "tests/experiments/studies/pages/browser.h"
#include "tests/experiments/studies/pages/rich.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::contains;
using testing::TemporaryFolder;
using testing::View;

const std::vector<View> kViews = {{"desktop", 1280, 2600},
                                  {"desktop-dark", 1280, 2600, true},
                                  {"phone", 390, 2600},
                                  {"phone-dark", 390, 2600, true},
                                  {"print", 718, 2600, false, true}};

/// Where the pictures stay for a person to look at.
std::filesystem::path pictures() {
  const char* const folder = std::getenv("HEADROOM_PICTURES");
  const std::filesystem::path path = folder ? folder : "report-pictures";
  std::filesystem::create_directories(path);
  return std::filesystem::absolute(path);
}

/// Fails where the page logs an error, a figure is empty or cut, or something reaches beyond the window.
void check_page(const std::filesystem::path& browser, const std::string& page, const std::string& name,
                const std::vector<View>& views, size_t figures) {
  for (const View& view : views) {
    CAPTURE(name, view.name);
    const testing::Looked looked = testing::look(browser, page, view, pictures(), name + "-" + view.name);
    CHECK_FALSE(contains(looked.log, "CONSOLE"));
    const nlohmann::json& seen = looked.measures;
    INFO(seen.dump());
    REQUIRE(seen.is_object());
    CHECK(seen["errors"].empty());
    CHECK(seen["page"].get<int>() <= seen["width"].get<int>());
    CHECK(seen["outside"].empty());
    CHECK(seen["tiny"].empty());
    CHECK(seen["figures"].size() == figures);
    for (const auto& figure : seen["figures"]) {
      CHECK(figure["visible"] == 1);
      CHECK(figure["marks"].get<int>() > 0);
      CHECK(figure["cut"] == 0);
      CHECK(figure["described"] == true);
    }
  }
}

std::string page_of(const StudyResults& results) {
  const TemporaryFolder folder;
  return testing::read_bytes(write_report(analyse(results), folder / "study" / "quick"));
}

/// What a study may say at worst: words without a space, and more of everything than fits.
StudyResults crowded() {
  StudyResults r = testing::rich();
  const std::string word(180, 'W');
  r.title = "A <title> " + word;
  r.report.x_label = r.report.y_label = word;
  r.claims[0].paper = r.claims[1].ours = r.claims[1].why = word;
  r.claims[1].paper = "";
  r.provenance["a long hash"] = word;
  r.resolved_config = word + word + "\n";
  r.report.also.push_back({{"no such metric", "nothing"}, {}});
  for (int i = 0; i < 9; ++i) {
    r.series.push_back(fmt::format("series {} {}", i, i == 3 ? word : ""));
    for (double x : {1, 2}) {
      r.trials.push_back(testing::trial(x, 0, x == 1 ? 1e-7 * (i + 1) : 3e8));
      r.trials.back().series = r.series.back();
      r.trials.back().id += r.series.back();
    }
  }
  return r;
}

}  // namespace

TEST_CASE("a browser shows the report at every size, in light, dark and print") {
  const auto browser = testing::find_browser();
  if (!browser) return headroom::testing::skip("no chromium or google-chrome on PATH");
  check_page(*browser, page_of(testing::rich()), "study", kViews, 9);
}

TEST_CASE("a browser shows the report of a smoke run") {
  const auto browser = testing::find_browser();
  if (!browser) return headroom::testing::skip("no chromium or google-chrome on PATH");
  const char* const program = std::getenv("HEADROOM_PROGRAM");
  if (!program) return headroom::testing::skip("HEADROOM_PROGRAM names no program");
  const TemporaryFolder folder;
  const auto study = std::filesystem::path(headroom::testing::source_root()) / "experiments" / "ngram-tradeoff.toml";
  const auto run = run_program(
      program, {"run", study.string(), "--profile", "smoke", "--out", folder.path().string(), "--quiet"}, "", 300);
  INFO(run.errors);
  REQUIRE(run.status == 0);
  const std::string page = testing::read_bytes(folder / "ngram-tradeoff" / "smoke" / "report.html");
  const auto figures = static_cast<size_t>(testing::times(page, "<figure "));
  CHECK(figures >= 4);  // the series together, and each
  check_page(*browser, page, "smoke", {kViews[0], kViews[3]}, figures);
  const std::string index = testing::read_bytes(folder / "index.html");
  CHECK(contains(index, "ngram-tradeoff/smoke/report.html"));
  check_page(*browser, index, "index", {kViews[0], kViews[2], kViews[4]}, 0);
}

TEST_CASE("a browser shows the page of a plan") {
  const auto browser = testing::find_browser();
  if (!browser) return headroom::testing::skip("no chromium or google-chrome on PATH");
  AllocationRequest request;
  request.width = 256;
  request.token_dim = 8;
  request.decay = parse_decay("exponential:0.3", 24);
  StudyFit fit{.series = "D 256", .width = 256, .token_dim = 8, .rho = {1, 1}, .points = {}};
  for (int64_t heads = 1; heads <= 256; heads *= 2) {
    const double error = 0.01 + 0.3 / static_cast<double>(heads) + static_cast<double>(heads) / 500;
    fit.points.push_back({heads, 256 / heads, error, 1.5 * error, 4});
  }
  request.fits = {fit};
  CostRequest costs;
  costs.model = parse_plan_toml(
      "vocab = 32000\ncontext = 2048\n[model]\nkind = \"decoder\"\nlayers = 12\nwidth = 768\nheads = 12\n", "m.toml");
  costs.context = 2048;
  costs.machine = machine_named("h100");
  const TemporaryFolder folder;
  const AllocationPlan allocation = plan_allocation(request);
  write_plan_page(folder / "plan.html", answer_of(allocation), allocation, plan_costs(costs));
  check_page(*browser, testing::read_bytes(folder / "plan.html"), "plan", kViews, 3);
}

TEST_CASE("a browser shows the page of a probe, and each head's curves") {
  const auto browser = testing::find_browser();
  if (!browser) return headroom::testing::skip("no chromium or google-chrome on PATH");
  const char* const program = std::getenv("HEADROOM_PROGRAM");
  if (!program) return headroom::testing::skip("HEADROOM_PROGRAM names no program");
  const TemporaryFolder folder;
  const auto models = std::filesystem::path(headroom::testing::source_root()) / "tests/models/pretrained";
  const auto run = run_program(program,
                               {"probe", (models / "checkpoints/smollm2").string(), "--text",
                                (models / "text.txt").string(), "--html", (folder / "probe.html").string()},
                               "", 60);
  INFO(run.errors);
  REQUIRE(run.status == 0);
  const std::string page = testing::read_bytes(folder / "probe.html");
  check_page(*browser, page, "probe", kViews, 7);

  // What the page says after each step stands where its errors would.
  std::string used = page;
  testing::replace_all(used, "</body>", R"js(<script>
    var choice = document.getElementById("measure"), cells = document.querySelectorAll("#heat button");
    function note() { window.problems.push(document.querySelector("#head h3").textContent); }
    function press(key) { document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true })); }
    note();
    cells[4].click(); note();
    cells[4].focus(); press("ArrowDown"); note(); press("ArrowDown"); note(); press("ArrowLeft"); note();
    press("ArrowLeft"); note(); press("ArrowUp"); note();
    choice.selectedIndex = 8; choice.dispatchEvent(new Event("change"));
    window.problems.push(document.getElementById("bar").className);
    cells[5].dispatchEvent(new MouseEvent("mouseenter"));
    window.problems.push(document.getElementById("readout").textContent.slice(0, 17));
    window.problems.push(document.querySelectorAll("#heat [aria-pressed=true]").length);
  </script></body>)js");
  const auto said = [&](const std::string& html, const View& view) {
    return testing::look(*browser, html, view, pictures(), "probe-used-" + view.name).measures["errors"];
  };
  // On a wide page a column is a layer.
  const std::vector<std::string> wide = {"Layer 0, head 0", "Layer 1, head 1", "Layer 1, head 2", "Layer 1, head 2",
                                         "Layer 0, head 2", "Layer 0, head 2", "Layer 0, head 1"};
  const std::vector<std::string> phone = {"Layer 0, head 0", "Layer 1, head 1", "Layer 1, head 1", "Layer 1, head 1",
                                          "Layer 1, head 0", "Layer 1, head 0", "Layer 0, head 0"};
  for (const auto& [view, heads] : {std::pair{kViews[0], wide}, {kViews[2], phone}}) {
    CAPTURE(view.name);
    nlohmann::json wanted = heads;
    wanted.insert(wanted.end(), {"bar signed", "layer 1, head 2: ", 1});
    CHECK(said(used, view) == wanted);
  }
}

TEST_CASE("long words and many series stay within the window") {
  const auto browser = testing::find_browser();
  if (!browser) return headroom::testing::skip("no chromium or google-chrome on PATH");
  check_page(*browser, page_of(crowded()), "crowded", {kViews[0], kViews[2]}, 18);
}

TEST_CASE("a click on a column's head sorts the table by numbers") {
  const auto browser = testing::find_browser();
  if (!browser) return headroom::testing::skip("no chromium or google-chrome on PATH");
  const auto looked = testing::look(*browser, page_of(testing::u_curve()), kViews[0], pictures(), "sorted");
  CHECK(looked.measures["sorted"] == std::vector<std::string>{"0.0101", "0.0300", "0.103", "0.200", "1.03"});
  CHECK(looked.measures["direction"] == "ascending");
}

}  // namespace headroom::experiments
