// headroom plan: its arguments, what it counts, and the program around it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/studies/analysis/head_advice.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/pages/how_many_heads.h"
#include "experiments/studies/run/store.h"
#include "experiments/tools/plan/answer.h"
#include "experiments/tools/plan/measured_choice.h"
#include "experiments/tools/plan/plan_page.h"
#include "models/costs.h"
#include "tasks/attention_lags.h"
#include "tasks/theory/bound_terms.h"
#include "tests/experiments/plan_models.h"
#include "tests/experiments/program.h"
#include "tests/experiments/studies/pages/xml.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

AllocationRequest request_of(int64_t width, int64_t token_dim, const std::string& decay) {
  AllocationRequest request;
  request.width = width;
  request.token_dim = token_dim;
  request.decay = parse_decay(decay, 32);
  return request;
}

/// A text with every `old` replaced.
std::string replaced_all(std::string text, const std::string& old, const std::string& with) {
  for (size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += with.size())
    text.replace(at, old.size(), with);
  return text;
}

}  // namespace

TEST_CASE("a decay is a list of norms or a kernel") {
  CHECK(parse_decay("1, 0.5,0,2e-1", 32).norms == std::vector<double>{1, 0.5, 0, 0.2});
  CHECK(parse_decay("delta:3", 32).norms == std::vector<double>{0, 0, 1});
  CHECK(parse_decay("n-gram:2", 32).norms == std::vector<double>{1, 1});
  CHECK(parse_decay("exponential:0.5", 6).norms.size() == 6);
  CHECK(parse_decay("exponential:0.5", 6).norms[1] == Approx(std::exp(-1.0)));
  for (const double norm : parse_decay("airy:8", 32).norms) CHECK(norm >= 0);
  const auto wrong = [](const std::string& text) { return error_of([&] { parse_decay(text, 32); }); };
  CHECK(wrong("1,-1") == "--decay: term 2 is -1: expected a finite number >= 0");
  CHECK(wrong("nan") == "--decay: term 1 is \"nan\": expected a number");
  CHECK(wrong("1,inf") == "--decay: term 2 is \"inf\": expected a number");
  CHECK(wrong("0,0") == "--decay: every term is 0: expected one above 0");
  CHECK(wrong("") == "--decay: term 1 is \"\": expected a number");
  CHECK(wrong("1,x") == "--decay: term 2 is \"x\": expected a number");
  CHECK(contains(wrong("list:3"), "neither a list of norms nor a kernel"));
  CHECK(contains(wrong("n-gram:0.5"), "the n of n-gram is 0.5"));
  CHECK(contains(wrong("exponential:-1"), "--decay: kernel.alpha"));
  CHECK(contains(wrong("delta:40"), "is 0 at every lag 1..32 (--terms)"));
}

TEST_CASE("the 4-gram's plan: terms, the sharper bound, equal heads, the runner-up, flatness") {
  const AllocationPlan plan = plan_allocation(request_of(256, 8, "1,1,1,1"));
  CHECK(plan.paper.best.bound == Approx(0.6834970558714126).epsilon(1e-9));
  CHECK(plan.paper.best.groups == std::vector<tasks::LagGroup>{{1, 8, 8}, {2, 8, 8}, {3, 8, 8}, {4, 8, 8}});
  CHECK(plan.terms.extraction == Approx(plan.paper.best.bound));
  CHECK(plan.terms.projection == 0);
  CHECK(plan.terms.truncation == 0);
  CHECK(plan.terms.concentration == 0);
  CHECK(plan.nothing == 4);
  CHECK(plan.best_equal.head_dim == 8);
  CHECK(plan.best_equal.paper == Approx(plan.paper.best.bound));
  REQUIRE(plan.paper.runner_up.has_value());
  CHECK(plan.paper.runner_up->bound > plan.paper.best.bound);
  CHECK(plan.paper.runner_up->bound < 1.01 * plan.paper.best.bound);
  REQUIRE(plan.equal.size() == 9);
  CHECK(plan.equal.back().paper == Approx(3.8270849255130175));
  CHECK(plan.equal.back().sharper == Approx(plan.paper.best.bound));
  CHECK(plan.within[2].width < plan.within[0].width);
  const nlohmann::ordered_json json = allocation_json(plan);
  CHECK(json["objective"] == plan.paper.best.bound);
  CHECK(json["groups"][3] == nlohmann::ordered_json{{"lag", 4}, {"heads", 8}, {"head_dim", 8}});
  CHECK(json["terms"]["extraction"]["status"] == "heuristic");
}

TEST_CASE("the terms of narrow heads, with the exact law of a projection's loss") {
  // Half of four dimensions kept: the lost share is Beta(1, 1), uniform, so its 0.95 quantile is 0.95.
  const tasks::BoundTerms terms = tasks::bound_terms({2, 1}, {{1, 3, 2}}, 4, 0.05);
  CHECK(terms.projection == Approx(2 * std::sqrt(0.5)));
  CHECK(terms.extraction == Approx(2 * tasks::extraction_error(1, 3)));
  CHECK(terms.truncation == 1);
  CHECK(terms.exact_projection == Approx(2 * std::sqrt(0.95)));
  CHECK(terms.concentration == Approx(2 * 2 * std::sqrt(std::log(2 / 0.05) / 4)));
  CHECK(terms.objective() == Approx(tasks::objective_of({2, 1}, {{1, 3, 2}}, tasks::paper_error(4))));
  CHECK(contains(error_of([] { tasks::bound_terms({1}, {{2, 1, 1}}, 4, 0.05); }), "serves lag 2"));
  CHECK(contains(error_of([] { tasks::bound_terms({1}, {{1, 1, 1}}, 4, 1); }), "the risk is 1"));
}

TEST_CASE("a plan that cannot be is refused by its argument") {
  const auto wrong = [](int64_t width, int64_t token_dim) {
    return error_of([&] { plan_allocation(request_of(width, token_dim, "1")); });
  };
  CHECK(wrong(0, 8) == "--width: expected >= 1, got 0");
  CHECK(wrong(8, -1) == "--token-dim: expected >= 1, got -1");
  AllocationRequest request = request_of(2, 8, "1,1,1");
  request.risk = 0;
  CHECK(contains(error_of([&] { plan_allocation(request); }), "--risk"));
}

TEST_CASE("the page is well-formed, fetches nothing, and holds what the tables hold") {
  const TemporaryFolder folder;
  AllocationRequest request = request_of(64, 4, "1,0.5");
  request.decay.source = "<script>";
  const AllocationPlan allocation = plan_allocation(request);
  const CostPlan costs = plan_costs(costs_on_h100(smollm2()));
  write_plan_page(folder.path() / "deep" / "plan.html", answer_of(allocation), allocation, costs);
  const std::string page = read(folder.path() / "deep" / "plan.html");
  CHECK(experiments::testing::malformed(page) == "");
  CHECK(contains(page, rounded(allocation.paper.best.bound)));
  const size_t advice = page.find("Use 16 heads of width 4");
  CHECK(advice < page.find("<dt>because</dt>"));
  CHECK(page.find("<dt>next best</dt>") < page.find("How to split the width"));
  CHECK(contains(page, "<li><b>heuristic</b>"));
  CHECK(contains(page, "135 M"));
  CHECK(contains(page, "&lt;script&gt;"));
  CHECK(contains(page, "<svg"));
  write_plan_page(folder.path() / "costs.html", std::nullopt, std::nullopt, costs);
  CHECK(experiments::testing::malformed(read(folder.path() / "costs.html")) == "");
  CHECK_FALSE(contains(read(folder.path() / "costs.html"), "<b>heuristic</b>"));
}

TEST_CASE("the page of what was measured has the answers, and all that was tried") {
  const TemporaryFolder folder;
  // An answer that trained models give is drawn by their curves, and the bound that contradicts it is folded away.
  const std::string sum = output_of(folder.path(), "plan --width 256 --token-dim 8 --decay 1,1,1,1 --html sum.html");
  const std::string drawn = read(folder.path() / "sum.html");
  CHECK(experiments::testing::malformed(drawn) == "");
  REQUIRE(contains(drawn, "Times the best against the number of heads"));
  CHECK(drawn.find("Times the best against") < drawn.find("<details"));
  CHECK(drawn.find("<details") < drawn.find("Bound against the number of equal heads"));
  std::istringstream terminal(sum);
  for (std::string line; std::getline(terminal, line);) {
    CAPTURE(line);
    CHECK(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }) <= 80);
  }
  CHECK(contains(output_of(folder.path(), "plan --for mlm --html mlm.html"), "\npage  mlm.html\n"));
  const std::string page = read(folder.path() / "mlm.html");
  CHECK(experiments::testing::malformed(page) == "");
  const std::vector<HeadChoice> found = choices_for("mlm", shipped_choices());
  for (const int64_t width : widths_of(curves_of(found)))
    CHECK(contains(page, capitalized(measured_answer(curves_of(found), width)->advice)));
  for (const HeadChoice& one : found)
    for (const HeadChoice::Option& option : one.options) CHECK(contains(page, rounded(option.ratio)));
}

TEST_CASE("the program: JSON with the allocation, tables, and one line for what is wrong") {
  const TemporaryFolder folder;
  const auto parsed = nlohmann::json::parse(
      output_of(folder.path(), "plan --width 256 --token-dim 8 --decay 1,1,1,1 --lags prefix --exact-width --json"));
  CHECK(parsed["objective"].get<double>() == Approx(0.6834970558714126).epsilon(1e-9));
  CHECK(parsed["groups"].size() == 4);
  CHECK(parsed["lags"] == "prefix");
  std::ofstream(folder.path() / "config.json") << smollm2();
  const std::string both =
      output_of(folder.path(), "plan --config config.json --on h100 --token-dim 64 --decay exponential:0.5 --tables");
  CHECK(contains(both, "width 576 · token dim 64"));
  CHECK(contains(both, "135 M"));
  const auto complaint = [&](const std::string& arguments) {
    Program program(folder.path(), "plan " + arguments);
    CHECK(program.wait() == 1);
    CHECK(program.out().empty());
    return program.err();
  };
  CHECK(contains(complaint("--width 8 --token-dim 8 --decay=-1"), "--decay: term 1 is -1"));
  CHECK(contains(output_of(folder.path(), "plan --config . --on h100"), "135 M"));
  CHECK(contains(complaint("--width 1000000000000000000 --token-dim 8 --decay 1"), "--width: expected at most"));
  CHECK(contains(complaint("--width 1000000 --token-dim 8 --decay 1"), "--width: 1000000 with 1 lags"));
  CHECK(contains(complaint("--width 8 --token-dim 1000000000000000000 --decay 1"), "--token-dim: expected at most"));
  CHECK(contains(complaint("--width 8 --token-dim 8 --decay 1e308,1e308"), "--decay: the sum of the terms"));
  CHECK(contains(complaint("--width 7 --token-dim 2 --decay 1 --lags prefix --exact-width --head-dims 2"),
                 "--head-dims"));
  CHECK(contains(complaint("--layers 0 --width 128 --heads 4 --ffn 0 --vocab 9"), "layers"));
  CHECK(contains(complaint("--layers 2 --width 128 --heads 4 --ffn 0 --vocab 9 --kv-heads=-2"), "kv_heads"));
  CHECK(contains(complaint("--for chess"), "--for: nothing was measured for 'chess'; there are "));
  CHECK(contains(complaint("--for mlm --decay 1"), "--for: says what was measured; give no decay and no model"));
  CHECK(contains(complaint("--config config.json --context 0 --on h100"), "--context: expected 1 to"));
  CHECK(contains(complaint("--config config.json --on abacus"), "--on: no machine"));
}

TEST_CASE("a plan answers in its first line, and says why, how sure, at what cost, and what is next") {
  const PlanAnswer equal = answer_of(plan_allocation(request_of(512, 16, "1,1,1,1")));
  CHECK(equal.advice == "use 32 heads of width 16 (4 lags × 8)");
  CHECK(equal.basis == "heuristic");
  CHECK(equal.because == "heads as wide as the token (16) lose nothing of what they fetch; width 512 holds 32 of them");
  CHECK(contains(equal.sure, "a heuristic, suggests it: 0.683 with these heads, 4.00 without any. "));
  CHECK(contains(equal.sure, "No model of this width was trained on a sum"));
  CHECK(contains(answer_of(plan_allocation(request_of(256, 16, "1,1,1,1"))).sure,
                 "No model was trained on this sum; on others"));
  CHECK(equal.bound.empty());
  CHECK(contains(equal.costs, "32·T² a layer"));
  CHECK(contains(equal.next, "16 heads of width 32: the bound is "));
  CHECK(
      answer_of(plan_allocation(request_of(24, 4, "exponential:0.5"))).advice.starts_with("use 6 heads of width 4 ("));
  AllocationRequest ranks = request_of(80, 8, "1,1,1,1");
  ranks.ranks = {8, 6, 4, 2};
  const PlanAnswer unequal = answer_of(plan_allocation(ranks));
  CHECK(contains(unequal.advice, "heads of unequal width: "));
  CHECK(contains(unequal.advice, " for lag 4"));
  CHECK(answer_of(plan_allocation(request_of(1, 64, "delta:9"))).advice == "use no heads: no lag is worth one");
  const std::string text = answer_text(equal, 80);
  CHECK(text.starts_with("use 32 heads of width 16 (4 lags × 8)\n  because    heads as wide"));
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    CHECK(display_width(text.substr(at, end - at)) <= 80);
}

TEST_CASE("what was measured at a width goes before what a bound says of it") {
  using Standing = HeadChoice::Option::Standing;
  HeadChoice measured;
  measured.kind = "masked";
  measured.metric = "cross_entropy";
  measured.study = "mlm";
  measured.profile = "quick";
  measured.series = measured.positions = "sinusoidal";
  measured.width = 64;
  measured.steps = 1200;
  measured.margin = 1.01;
  measured.seeds = 5;
  measured.options = {{1, 64, 64, 1.05, 1.02, 1.08, Standing::worse},
                      {4, 16, 16, 1, NAN, NAN, Standing::best},
                      {8, 8, 8, 1.002, 0.999, 1.005, Standing::as_good},
                      {16, 4, 4, 1.006, 0.99, 1.02, Standing::open}};
  const PlanAnswer answer = *measured_answer({&measured}, 64);
  CHECK(answer.advice == "use 4 heads of width 16 (measured at width 64)");
  CHECK(answer.because ==
        "it is the best on validation of 4 numbers of heads: mlm, sinusoidal, sinusoidal positions, 1200 steps");
  CHECK(answer.sure ==
        "1 curve of mlm · quick, 5 seeds or more: within 1 % of every other number on 0, worse on 0, open on 1; as "
        "good: 8; at least 1 % worse: 1; not decided: 16");
  CHECK(answer.next == "8 heads of width 8: 1.00 times the error of the best");
  CHECK_FALSE(measured_answer({&measured}, 32).has_value());
  const nlohmann::ordered_json as_json = answer_json(answer);
  CHECK(as_json["heads"] == 4);
  CHECK(as_json["head_dim"] == 16);
  CHECK(as_json["basis"] == "measured");
  CHECK(as_json["how_sure"] == answer.sure);
  CHECK_FALSE(as_json.contains("the_bound"));
  const std::string table = measured_text({measured, measured, measured}, 100);
  CHECK(contains(table, "by 1 % of the cross_entropy\n\npositions    use      as good   open   worse   D "));
  CHECK(contains(table, "sinusoidal   4 × 16   8         16     1       64   1200    5       mlm, sinusoidal\n"));
  const std::string json = choices_json({measured});
  const std::vector<HeadChoice> read = parse_choices(json);
  REQUIRE(read.size() == 1);
  CHECK(choices_json(read) == json);
  CHECK(choices_for("mlm", read).size() == 1);
  CHECK(contains(error_of([&] { choices_for("ntp", read); }), "--for: nothing was measured for 'ntp'"));
  CHECK(contains(error_of([&] { parse_choices(replaced(json, "\"best\"", "\"worst\"")); }), "no standing \"worst\""));
  CHECK(contains(error_of([&] { parse_choices(replaced(json, "\"best\"", "\"open\"")); }), "one best number of heads"));
  CHECK(contains(error_of([&] { parse_choices("[{}]"); }), "task"));
  const AllocationPlan plan = plan_allocation(request_of(64, 8, "1,1"));
  CHECK(answer_of(plan, {measured}).advice == answer.advice);
  CHECK(contains(answer_of(plan, {measured}).bound, "says 8 heads of width 8 (2 lags × 4): "));
  CHECK(answer_of(plan_allocation(request_of(32, 8, "1,1")), {measured}).advice ==
        "use 4 heads of width 8 (1 lag × 4)");
  CHECK_FALSE(shipped_choices().empty());
  for (const std::string& word : task_words()) CHECK_FALSE(choices_for(word, shipped_choices()).empty());
}

TEST_CASE("plan, plan --for, the guide, the results and the README have one number of heads for one question") {
  const std::filesystem::path docs = std::filesystem::path(source_root()) / "docs";
  const std::string guide = read(docs / "how-many-heads.md");
  std::set<std::string> tasks;
  std::set<std::pair<int64_t, int64_t>> sums;  // width of the model and of a token, of sums of the last four
  std::set<std::vector<std::string>> best;     // study, series, number
  for (const HeadChoice& c : shipped_choices()) {
    tasks.insert(c.task);
    best.insert({c.study, c.series, exact(c.best().heads)});
    if (std::count(c.decay.begin(), c.decay.end(), 1) == 4 && std::count(c.decay.begin(), c.decay.end(), 0) > 4)
      sums.insert({c.width, static_cast<int64_t>(c.token_dim)});
  }
  for (const std::string& task : tasks) {
    std::vector<const HeadChoice*> curves;
    for (const HeadChoice& one : shipped_choices())
      if (one.task == task) curves.push_back(&one);
    const std::string row = guide.substr(guide.find("\n| " + task + " | ") + 1);
    for (const int64_t width : widths_of(curves))
      CHECK(contains(row.substr(0, row.find('\n')), taken_text(head_advice(curves, width))));
  }

  const TemporaryFolder folder;
  const auto answer = [&](const std::string& arguments) {
    const auto json =
        nlohmann::json::parse(output_of(folder.path(), "plan " + arguments + " --json --html page.html --force"));
    const auto& found = json.contains("answer") ? json["answer"] : json["answers"][0];
    CHECK(contains(read(folder.path() / "page.html"), capitalized(found["advice"].get<std::string>())));
    CHECK(output_of(folder.path(), "plan " + arguments).starts_with(found["advice"].get<std::string>() + "\n"));
    return found;
  };
  REQUIRE(sums.size() >= 6);
  for (const auto& [width, token] : sums) {
    const std::string sizes = fmt::format("--width {} --token-dim {}", width, token);
    const nlohmann::json plan = answer(sizes + " --decay 1,1,1,1"), task = answer(sizes + " --for n-gram");
    CHECK(plan["basis"] == "measured");
    CHECK(plan["heads"] == task["heads"]);
    CHECK(plan["head_dim"] == task["head_dim"]);
    CHECK(contains(plan["the_bound"].get<std::string>(), fmt::format("{} heads of width {} ", width / token, token)));
    if (width == 64 && token == 8)
      CHECK(contains(read(std::filesystem::path(source_root()) / "README.md"),
                     fmt::format("against {} heads", plan["heads"].get<int>())));
  }

  std::istringstream lines(replaced_all(read(docs / "results" / "guideline.md"), "\\_", "_"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = parts_of_list(replaced_all(line, " | ", "|"), '|');
    best.erase({replaced_all(cells[1], "`", "").substr(1), cells[2], cells[4]});
  }
  CHECK(best.empty());
}

TEST_CASE("each headline of the README has its grid of runs on the page of headlines") {
  const std::filesystem::path root = source_root();
  const std::string page = read(root / "docs" / "results" / "headlines.md");
  const std::string readme = std::regex_replace(read(root / "README.md"), std::regex("\n +"), " ");
  const std::string found = readme.substr(readme.find("## What was found"));
  const std::regex bold(R"(\n- \*\*(.*?)\.?\*\*)"), link(R"(\[(.*?)\]\(.*?\))");
  int headlines = 0;
  for (std::sregex_iterator it(found.begin(), found.end(), bold), end; it != end; ++it, ++headlines) {
    const std::string words = std::regex_replace(it->str(1), link, "$1");
    INFO(words);
    CHECK(contains(page, "\n## " + words));
  }
  CHECK(headlines >= 8);
}

TEST_CASE("each ratio with an interval in the README is on a page of results") {
  const std::filesystem::path root = source_root();
  std::string pages;
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs" / "results"))
    if (entry.path().extension() == ".md") pages += read(entry.path());
  const std::string readme = read(root / "README.md");
  const std::regex ratio(R"(([\d.]+)\s+times\s+\[([\d.]+),\s+([\d.]+)\])");
  int found = 0;
  for (std::sregex_iterator it(readme.begin(), readme.end(), ratio), end; it != end; ++it, ++found) {
    INFO(it->str());
    CHECK(contains(pages, fmt::format("{}× \\[{}, {}\\]", it->str(1), it->str(2), it->str(3))));
  }
  const std::regex percent(R"((\d+\.\d) % \[(-?\d+\.\d),\s+(-?\d+\.\d)\])");
  const auto signed_text = [](const std::string& number) { return (number[0] == '-' ? "" : "+") + number + " %"; };
  for (std::sregex_iterator it(readme.begin(), readme.end(), percent), end; it != end; ++it, ++found) {
    INFO(it->str());
    CHECK(contains(pages, fmt::format("{} \\[{}, {}\\]", signed_text(it->str(1)), signed_text(it->str(2)),
                                      signed_text(it->str(3)))));
  }
  CHECK(found >= 8);
}

TEST_CASE("where nothing was measured the usual width of heads is a guess, and is called one") {
  CHECK(usual_head_dim(576) == 64);
  CHECK(usual_head_dim(1600) == 64);
  CHECK(usual_head_dim(4096) == 128);
  CHECK(usual_head_dim(1000) == 50);
  CHECK(usual_head_dim(7) == 7);
  HeadChoice text;
  text.kind = "masked";
  text.study = "mlm";
  text.positions = "learned";
  text.width = 32;
  text.options = {{2, 16, 16, 1, NAN, NAN, HeadChoice::Option::Standing::best}};
  CHECK(unmeasured_answer(512, "mlm", {text}).advice == "start with 8 heads of width 64: the usual width of heads");
  CHECK(contains(unmeasured_answer(512, "mlm", {text}).sure, "a guess: models for mlm were trained only at width 32."));
  CHECK(unmeasured_answer(48, "mlm", {text}).advice == "start with 2 heads of width 24: as many as at width 32");
  HeadChoice sums = text;
  sums.kind = "linear-functional";
  const PlanAnswer none = unmeasured_answer(512, "n-gram", {sums});
  CHECK(none.advice == "no advice: nothing was measured for n-gram near width 512");
  CHECK(contains(none.because, "plan --width 512 --token-dim d --decay"));
  CHECK_FALSE(contains(answer_text(none), "next best"));

  CHECK(usual_answer(plan_costs(costs_on_h100(smollm2()))).advice ==
        "keep 9 heads of width 64: the usual width for a model as wide as 576");
  const PlanModel few = parse_plan_toml(
      "vocab = 9\n[model]\nkind = \"decoder\"\nlayers = 2\nwidth = 1024\nheads = 2\nffn_width = 0\n", "few");
  CostRequest request = costs_on_h100(smollm2());
  request.model = few;
  request.context = 8;
  CHECK(
      usual_answer(plan_costs(request)).advice ==
      "start with 16 heads of width 64, the usual width for a model as wide as 1024; as given it has 2 heads of width "
      "512");
  request.model = parse_plan_toml(
      "vocab = 9\n[model]\nkind = \"decoder\"\nlayers = 2\nwidth = 24\nheads = 3\nffn_width = 0\n", "narrow");
  CHECK(usual_answer(plan_costs(request)).advice == "keep 3 heads of width 8, and try other numbers");

  const TemporaryFolder folder;
  CHECK(output_of(folder.path(), "plan --for mlm --width 1024 --html page.html")
            .starts_with("start with 16 heads of width 64: the usual width of heads\n  because    "));
  const std::string page = read(folder.path() / "page.html");
  CHECK(page.find("Start with 16 heads of width 64") < page.find("mlm-shakespeare"));
  CHECK(output_of(folder.path(), "plan --layers 2 --width 1024 --heads 16 --ffn 0 --vocab 9 --context 8 --on h100")
            .starts_with("keep 16 heads of width 64: "));
}

TEST_CASE("the decay of a trained model's heads is their attention by lag") {
  const auto files =
      models::ModelFiles::open(std::string(source_root()) + "/tests/models/pretrained/checkpoints/smollm2");
  const auto model = files->load();
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 64; ++i) tokens.push_back(i * 5 % 37);
  const Decay decay = decay_of_model(*files, *model, tokens, "", 4);  // one window of 64
  REQUIRE(decay.norms.size() == 4);
  CHECK(*std::max_element(decay.norms.begin(), decay.norms.end()) == 1);
  CHECK(decay.is_estimated);
  const std::vector<int64_t> wide(tokens.begin(), tokens.end());
  const auto heads =
      tasks::attention_by_lag(*model, {.input = engine::Tensor::from({1, 64}, wide), .target = {}}, 4, 2);
  for (size_t lag = 1; lag <= 4; ++lag)
    CHECK(decay.norms[lag - 1] / decay.norms[0] ==
          Approx(heads.at("attention_at_lag_" + std::to_string(lag)) / heads.at("attention_at_lag_1")));
  CHECK_THROWS_WITH(decay_of_model(*files, *model, {1, 2, 3}, "", 4), contains("--text: 3 tokens, expected 64"));
}

TEST_CASE("the study of unequal ranks trains the heads that the plan gives, and equal ones of as many parameters") {
  const Study study = load_study(headroom::testing::source_root() + "/experiments/plan-unequal-ranks.toml");
  std::map<int64_t, std::set<int64_t>> parameters;  // by width: Σ heads · (qk_dim + v_dim)
  std::set<int64_t> planned;                        // widths
  for (const PlannedTrial& trial : study.trials) {
    const auto& task = std::get<tasks::LinearFunctionalConfig>(trial.config.task);
    const models::TransformerConfig& model = trial.config.model;
    int64_t sum = 0;
    for (const models::HeadGroup& group : model.groups) sum += group.heads * (group.qk_dim + group.v_dim);
    parameters[model.width].insert(sum);
    if (trial.series.find(": the plan") == std::string::npos || !planned.insert(model.width).second) continue;
    AllocationRequest request = request_of(model.width, task.token_dim, "1,1,1,1");
    request.ranks = task.kernel.ranks;
    const AllocationPlan plan = plan_allocation(request);
    REQUIRE(plan.paper.best.groups.size() == model.groups.size());
    for (size_t i = 0; i < model.groups.size(); ++i) {
      CHECK(plan.paper.best.groups[i].heads == model.groups[i].heads);
      CHECK(plan.paper.best.groups[i].head_dim == model.groups[i].v_dim);
      CHECK(model.groups[i].qk_dim == model.groups[i].v_dim);
    }
  }
  CHECK(planned == std::set<int64_t>{20, 40, 64, 80, 160});
  for (const auto& [width, sums] : parameters) CHECK(sums == std::set<int64_t>{2 * width});
}
