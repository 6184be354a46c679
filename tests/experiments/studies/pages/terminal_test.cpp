// The table and the verdicts of a study on a terminal.
#include "experiments/studies/pages/report.h"

#include "experiments/output/number.h"
#include "tests/experiments/studies/pages/rich.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
using namespace testing;

TEST_CASE("the table on the terminal") {
  StudyResults r = testing::u_curve();
  r.claims = {claim("interior_optimum"), claim("optimum_at")};
  r.claims[0].log_error = true;
  r.claims[1].keys.among = {4};
  const std::string table = terminal_table(analyse(r)), verbose = terminal_table(analyse(r), {.is_verbose = true});
  CHECK(
      table.starts_with("The paper’s claims: 2 hold.\n\n"
                        "pass        as the paper says\n"
                        "            1 head 101× [81.2, 126] · 16 heads 19.7× ["));
  CHECK(contains(table,
                 "] of 4 heads · needs > 1×\n"
                 "pass        as the paper says\n"
                 "            8 heads 2.95× ["));
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
  CHECK(contains(verbose, "            With 1 head the error is 101× [81.2, 126] that with 4 heads"));
  CHECK(contains(verbose, ", p = 0.003)"));
  CHECK(contains(terminal_table(analyse(r), {.columns = 80, .has_colours = true}),
                 "\n\x1b[32mpass\x1b[0m        as the paper"));
  const std::string several = terminal_table(analyse(rich()));
  CHECK(contains(several, "D 64\nheads"));
  CHECK(contains(several, "\naccuracy "));
  CHECK(contains(several, "lr"));
  CHECK(contains(terminal_table(analyse(rich())), "0.01!"));
  CHECK(contains(terminal_table(analyse(rich())), "failed"));
}

TEST_CASE("a series that has all its trials is told as bars, with what is decided on it") {
  StudyResults r = testing::u_curve();
  r.claims = {claim("interior_optimum"), claim("optimum_at")};
  r.claims[1].keys.among = {1};
  std::map<std::string, VerdictStatus> before;
  const auto news = [&](const StudyResults& of) { return series_news(analyse(of), "", before); };
  r.report.y_scale = Scale::log10;
  const std::vector<std::string> told = news(r);
  REQUIRE(told.size() == 3);
  CHECK(told[0] == ": heads  1 █  2 ▅  4 ▁  8 ▃  16 ▆   mse 0.0101 to 1.03");
  CHECK(told[1].starts_with("  pass  as the paper says: 1 head 101× [81.2, 126] · 16 heads 19.7× ["));
  CHECK(told[2].starts_with("  fail  as the paper says: "));
  r.report.y_scale = Scale::linear;
  const std::vector<std::string> again = news(r);
  REQUIRE(again.size() == 1);  // both verdicts are as they were
  CHECK(contains(again[0], "1 █  2 ▂  4 ▁  8 ▁  16 ▂"));
  r.claims_to_come = 10000;  // Holm's order may hold both to a p-value that they have not
  const std::vector<std::string> open = news(r);
  REQUIRE(open.size() == 3);
  CHECK(open[2].starts_with("  undecided  as the paper says: "));
  before.clear();
  CHECK(news(r).size() == 1);
  r.trials.clear();
  CHECK(news(r).empty());
}

TEST_CASE("verdicts fit terminals of 60, 80 and 120 columns, and break between their numbers") {
  StudyResults r = testing::u_curve();
  r.claims = {claim("interior_optimum")};
  r.claims[0].paper = "one head is too few for the task, and heads of width 1 are too narrow for any of it";
  r.claims[0].keys.factor = 1.1;
  const auto shown = [&](int columns) {
    const std::string text = terminal_table(analyse(r), {.columns = columns});
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
      CHECK(display_width(text.substr(at, end - at)) <= static_cast<size_t>(columns));
    const size_t verdict = text.find("pass ");
    return text.substr(verdict, text.find("\n\n", verdict) - verdict);
  };
  CHECK(shown(60) ==
        "pass        one head is too few for the task, and heads of\n"
        "            width 1 are too narrow for any of it\n"
        "            1 head 101× [81.2, 126]\n"
        "            16 heads 19.7× [18.1, 21.4] of 4 heads\n"
        "            needs ≥ 1.1×");
  CHECK(shown(80) ==
        "pass        one head is too few for the task, and heads of width 1 are too\n"
        "            narrow for any of it\n"
        "            1 head 101× [81.2, 126] · 16 heads 19.7× [18.1, 21.4] of 4 heads\n"
        "            needs ≥ 1.1×");
  CHECK(shown(120) ==
        "pass        one head is too few for the task, and heads of width 1 are too narrow for any of it\n"
        "            1 head 101× [81.2, 126] · 16 heads 19.7× [18.1, 21.4] of 4 heads · needs ≥ 1.1×");
}

TEST_CASE("a verdict that is left open says on a terminal what would decide it") {
  StudyResults r = testing::study({1, 2}, {{1, 1.1, 1.2}, {2, 2.2, 2.41}});
  r.claims = {claim("less_than", {.at = 1, .than = {.at = 2}})};
  r.claims[0].keys.factor = 2.005;  // between the seeds' ratios
  r.claims[0].log_error = true;
  CHECK(contains(terminal_table(analyse(r)), "\n            1 head 0.49"));
  CHECK(contains(terminal_table(analyse(r)), "] of 2 heads · needs ≤ 0.4988×\n            About "));
  CHECK(contains(terminal_table(analyse(r)), " seeds would decide.\n"));
  for (TrialRecord& t : r.trials) t.test["relative_mse"] = t.test["mse"], t.validation["relative_mse"] = t.test["mse"];
  r.report.y_metric = "relative_mse";
  CHECK(contains(terminal_table(analyse(r)),
                 "\n            Nothing was learned here, as even the least error leaves 1.10"));
}

}  // namespace headroom::experiments
