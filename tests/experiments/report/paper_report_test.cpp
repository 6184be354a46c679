#include "experiments/report/paper_report.h"

#include "tests/experiments/claims/two_claims.h"
#include "tests/support/catch.h"

namespace headroom::experiments {

using testing::optimum;

TEST_CASE("the paper's numbers beside ours") {
  const StudyResults r = testing::two_claims();
  const std::vector<StoredVerdicts> all = {stored(r, judge(r))};
  const auto ours = ours_beside(optimum, all);
  REQUIRE(ours.size() == 1);
  CHECK(ours[0].value == 4);
  CHECK(ours[0].status == "fail");
  CHECK(ours_beside({"ngram-tradeoff", "optimum", "M"}, all).empty());
  const std::string text = paper_text(all);
  CHECK(testing::contains(text, "optimum, heads "));
  CHECK(testing::contains(text, "8        4.00 (synthetic · quick, fail)"));
  CHECK(testing::contains(text, "layers 21-24, rank = 1 "));
  CHECK(testing::contains(text, "4.72    not run"));
  const std::string page = paper_page(all);
  CHECK(testing::contains(page, "<td>4.00 (synthetic · quick, fail)</td>"));
  CHECK(testing::contains(page, "Ours: &lt;near&gt; the best"));
  CHECK(testing::contains(page, "1 of 14 numbers have one of ours beside them"));
  CHECK(testing::contains(paper_page({}), "No study was run."));
  for (const PaperTable& table : paper_tables())
    for (const PaperNumber& number : table.numbers) CHECK(testing::contains(text, number.label));
}

}  // namespace headroom::experiments
