#include "experiments/studies/pages/verdict_file.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "experiments/output/number.h"
#include "experiments/studies/words/verdict_words.h"
#include "tests/experiments/studies/claims/two_claims.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::papers_optimum;
using testing::two_claims;

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("verdicts are read back as they were written") {
  const headroom::testing::TemporaryFolder folder;
  const StudyResults r = two_claims();
  write(folder.path() / "synthetic" / "quick" / "verdicts.json", verdicts_json(analyse(r)));
  write(folder.path() / "other" / "quick" / "store.sqlite", "");  // never reported
  const auto all = read_verdicts(folder.path());
  REQUIRE(all.size() == 1);
  const StoredVerdicts wanted = stored(analyse(r));
  CHECK(all[0].study == "synthetic");
  CHECK(all[0].profile == "quick");
  REQUIRE(all[0].verdicts.size() == 2);
  const StoredVerdict &first = all[0].verdicts[0], &second = all[0].verdicts[1];
  CHECK(first.claim == "optimum_at [8]");
  CHECK(first.status == "fail");
  CHECK(first.measured == 4);
  CHECK(first.paper == 8.0);
  CHECK(first.sentence == wanted.verdicts[0].sentence);
  CHECK(first.beside == std::vector<std::pair<PaperPath, double>>{{papers_optimum, 4.0}});
  CHECK(second.status == "not run");
  CHECK(std::isnan(second.measured));
  CHECK_FALSE(second.paper);
  CHECK(second.says == "<near> the best");
  CHECK(read_verdicts(folder.path() / "nothing").empty());
}

TEST_CASE("a file that is no list of verdicts is named") {
  const headroom::testing::TemporaryFolder folder;
  for (const char* text :
       {"", "{", "[]", "{\"study\": 1}", "{\"study\": \"a\", \"profile\": \"b\", \"verdicts\": [{}]}"}) {
    write(folder.path() / "a" / "b" / "verdicts.json", text);
    CHECK(testing::contains(testing::error_of([&] { read_verdicts(folder.path()); }), "a/b/verdicts.json: not a file"));
  }
}

TEST_CASE("the list of verdicts as JSON") {
  const StudyResults r = two_claims();
  const auto list = nlohmann::json::parse(verdict_list_json({stored(analyse(r))}));
  REQUIRE(list.size() == 2);
  CHECK(list[0] == nlohmann::json{{"study", "synthetic"},
                                  {"claim", "optimum_at [8]"},
                                  {"source", "paper"},
                                  {"verdict", "fail"},
                                  {"measured", 4.0},
                                  {"paper", 8.0}});
  CHECK(list[1]["verdict"] == "not run");
  CHECK(list[1]["measured"].is_null());
  CHECK(list[1]["paper"].is_null());
  CHECK(verdict_list_json({}) == "[]\n");
}

TEST_CASE("the list of verdicts as a table") {
  const StudyResults r = two_claims();
  const std::string table = verdict_table({stored(analyse(r))});
  CHECK(testing::contains(table, "synthetic · quick   optimum_at [8]         fail      4 heads 0.339× ["));
  CHECK(testing::contains(table, "paper 8\n"));
  CHECK(testing::contains(table, "not run   Not judged: heads = 3 is no point of the sweep.\n"));
}

TEST_CASE("verdicts of what was not run") {
  const auto verdicts = not_judged(two_claims().claims, "the study was not run");
  REQUIRE(verdicts.size() == 2);
  CHECK(verdicts[0].status == VerdictStatus::not_run);
  CHECK(verdicts[0].paper == 8.0);
  CHECK(verdicts[0].beside.empty());
  CHECK(sentence(verdicts[0]) == "Not judged: the study was not run.");
}

TEST_CASE("rows in columns, by characters") {
  CHECK(aligned({{"a", "bb", "c"}, {"±±±", "b", ""}}) == "a     bb   c\n±±±   b\n");
  CHECK(aligned({}).empty());
  CHECK(aligned({{"a", "one two three four five", "c"}, {"b", "x", "y"}}, 24) ==
        "a   one two three   c\n    four five\nb   x               y\n");
  CHECK(aligned({{"a", "b"}}, 80) == aligned({{"a", "b"}}));
}

}  // namespace headroom::experiments
