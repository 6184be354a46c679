#include "experiments/studies/pages/paper_report.h"

#include <algorithm>
#include <fstream>

#include "experiments/output/text.h"
#include "experiments/studies/analysis/curve.h"
#include "tests/experiments/studies/claims/two_claims.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

namespace headroom::experiments {

using testing::papers_optimum;

TEST_CASE("the paper's numbers beside ours") {
  const StudyResults r = testing::two_claims();
  const std::vector<StoredVerdicts> all = {stored(analyse(r))};
  const auto ours = ours_beside(papers_optimum, all);
  REQUIRE(ours.size() == 1);
  CHECK(ours[0].value == 4);
  CHECK(ours[0].status == "fail");
  CHECK(ours_beside({"ngram-tradeoff", "optimum", "M"}, all).empty());
  const std::string text = paper_text(all);
  CHECK(testing::contains(text, "optimum, heads "));
  CHECK(testing::contains(text, "ours (quick)"));
  CHECK(testing::contains(text, "4.00 fail"));
  CHECK(testing::contains(text, "  13 more of the paper's numbers have no counterpart\n"));
  CHECK_FALSE(testing::contains(text, "not run\n"));  // other tables are none of this study's business
  CHECK(std::count(text.begin(), text.end(), '\n') < 20);
  const std::string page = paper_page(all);
  CHECK(testing::contains(page, "<td>4.00 fail</td>"));
  CHECK(testing::contains(page, "Ours: &lt;near&gt; the best"));
  CHECK(testing::contains(page, "1 of 14 numbers have one of ours beside them"));
  CHECK(testing::contains(paper_page({}), "No study was run."));
}

TEST_CASE("a study of one's own is not shown numbers of the paper that it is not for") {
  const std::vector<StoredVerdicts> own = {{.study = "mine", .profile = "paper", .verdicts = {}}};
  CHECK(paper_text(own) == "No study here has a number of the paper's tables.\n\n");
  for (const PaperTable& table : paper_tables()) {
    CHECK_FALSE(testing::contains(paper_page(own), "Numbers of " + table.study));
    const std::vector<StoredVerdicts> papers = {{.study = table.study, .profile = "paper", .verdicts = {}}};
    CHECK(testing::contains(paper_text(papers), "not run\n  " + table.study));
    for (const PaperNumber& number : table.numbers) CHECK(testing::contains(paper_page(papers), escape(number.label)));
  }
}

TEST_CASE("numbers of other models stand in columns that say so") {
  StudyResults r = testing::two_claims();
  const std::string series = series_names(r).front();
  for (TrialRecord& trial : r.trials) trial.config = R"({"task": {"model": "models/Small.Q4_1.gguf"}})";
  r.report.beside = {{series, "", {"ngram-tradeoff", "optimum", "M"}, 1.0}};
  const std::vector<StoredVerdicts> all = {stored(analyse(r))};
  const auto ours = ours_beside({"ngram-tradeoff", "optimum", "M"}, all);
  REQUIRE(ours.size() == 1);
  CHECK(ours[0].status.empty());
  CHECK(ours[0].value == curve(r, series).at(1)->mean);
  CHECK(ours_beside(papers_optimum, all).size() == 1);
  CHECK(testing::contains(paper_text(all), "ours (Small.Q4_1, quick)"));
  CHECK(testing::contains(paper_page(all), "<th scope=\"col\">ours (Small.Q4_1, quick)</th>"));

  // The file of verdicts keeps both.
  const headroom::testing::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "synthetic/quick");
  std::ofstream(folder / "synthetic/quick/verdicts.json") << verdicts_json(analyse(r));
  const std::vector<StoredVerdicts> read = read_verdicts(folder.path());
  CHECK(paper_text(read) == paper_text(all));
}

}  // namespace headroom::experiments
