// What the claims that test one sentence of the paper say together, and that every claim of the studies names one.
#include "experiments/studies/pages/scoreboard.h"

#include <filesystem>
#include <set>

#include "experiments/studies/config/study.h"
#include "experiments/studies/pages/models_page.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

namespace headroom::experiments {
namespace {

using testing::contains;

/// A study whose claims test a sentence with these verdicts, a series each unless one is given.
std::vector<Analysis> judged_as(const StudyResults& r, const std::vector<VerdictStatus>& statuses,
                                const std::string& sentence = "ngram-u", const std::string& series = "") {
  std::vector<Verdict> verdicts;
  for (const VerdictStatus status : statuses) {
    Verdict v;
    v.claim = testing::claim("interior_optimum");
    v.claim.series = "series " + std::to_string(verdicts.size());
    v.claim.sentence = sentence;
    if (!series.empty()) v.claim.series = series;
    v.status = status;
    verdicts.push_back(v);
  }
  std::vector<Analysis> all;
  all.emplace_back(r, std::move(verdicts));
  return all;
}

std::string status_of(const std::vector<VerdictStatus>& statuses) {
  const StudyResults r = testing::study({}, {});
  const std::vector<Analysis> all = judged_as(r, statuses);
  for (const SentenceVerdict& s : sentence_verdicts(all))
    if (s.sentence->id == "ngram-u") return s.status();
  return "";
}

TEST_CASE("A sentence holds or fails where its decided variants agree, and depends where they do not") {
  using enum VerdictStatus;
  CHECK(status_of({pass, pass}) == "holds");
  CHECK(status_of({pass, undecided}) == "holds");
  CHECK(status_of({fail, not_run}) == "fails");
  CHECK(status_of({pass, undecided, fail}) == "depends");
  CHECK(status_of({undecided, not_run}) == "open");
  CHECK(status_of({}) == "open");
}

TEST_CASE("A verdict that undecided variants may still turn is one so far") {
  using enum VerdictStatus;
  const StudyResults r = testing::study({}, {});
  const auto page = [&](const std::vector<VerdictStatus>& statuses) {
    return as_markdown(scoreboard(judged_as(r, statuses), "results"));
  };
  CHECK(contains(page({pass, undecided}), "**holds so far**"));
  CHECK(contains(page({fail, undecided}), "**fails so far**"));
  CHECK(contains(page({pass, pass}), "**holds**"));
  CHECK(contains(page({pass, undecided, fail}), "**depends**"));
}

TEST_CASE("A verdict that our set-ups cannot show is not given, and says why; other settings are not counted") {
  using enum VerdictStatus;
  const StudyResults r = testing::study({}, {});
  const auto page = [&](const std::vector<VerdictStatus>& statuses, const char* sentence, const char* series) {
    return as_markdown(scoreboard(judged_as(r, statuses, sentence, series), "results"));
  };
  CHECK(contains(page({fail}, "instruction-u", ""),
                 "| **open** | fails: [synthetic](results/synthetic.md) (series 0); open: our models are 64 wide"));
  CHECK_FALSE(contains(page({undecided}, "instruction-u", ""), "open: our models"));
  CHECK(contains(page({pass, undecided}, "mlm-many-worse", ""), "**depends**"));
  CHECK(contains(page({fail}, "ngram-u", "ALiBi alone"),
                 "| **open** | not counted, as the setting is not the paper’s: "));
  for (const PaperSentence& s : paper_sentences()) {
    CAPTURE(s.id);
    CHECK((s.at_most.empty() || s.at_most == "open" || s.at_most == "depends"));
    CHECK(s.at_most.empty() == s.because.empty());
  }
}

TEST_CASE("The scoreboard counts sentences, not claims, and names the variants that decide") {
  using enum VerdictStatus;
  const StudyResults r = testing::study({}, {});
  const std::vector<Analysis> all = judged_as(r, {pass, pass, pass, pass, pass, fail});
  const std::string page = as_markdown(scoreboard(all, "results"));
  CHECK(contains(page, "0 hold, 0 fail, 1 depend on the setting"));
  CHECK(contains(page, "holds: [synthetic](results/synthetic.md) (series 0; series 1; series 2; 2 more)"));
  CHECK(contains(page, "fails: [synthetic](results/synthetic.md) (series 5)"));
  CHECK(scoreboard(judged_as(r, {}), "results").empty());
}

TEST_CASE("Claims about trained models stand side by side, and those are told on which the models differ") {
  StudyResults r = testing::study({1}, {{1, 1, 1, 1}});
  const char* const configs[] = {R"({"task":{"model":"one.gguf"}})", R"({"task":{"model":"two.gguf"}})",
                                 R"({"task":{"model":"two.gguf","weights":"random"}})", R"({"task":{}})"};
  std::vector<Verdict> verdicts;
  const auto add = [&](size_t series, const std::string& words, VerdictStatus status) {
    Verdict& v = verdicts.emplace_back();
    v.claim = testing::claim("band");
    v.claim.series = std::to_string(series);
    v.claim.paper.clear();
    v.claim.ours = words;
    v.status = status;
    v.metric = "ratio";
    v.intervals = {{.name = "least", .value = 2}, {.name = "most", .value = 2}};
    v.points = {{.x = 1}, {.x = 1}};
  };
  for (size_t i = 0; i < 4; ++i) r.trials[i].series = std::to_string(i), r.trials[i].config = configs[i];
  using enum VerdictStatus;
  for (size_t i = 0; i < 4; ++i) add(i, "split", i == 1 ? fail : pass);
  add(0, "alike", pass), add(1, "alike", undecided);
  add(0, "alone", pass), add(2, "alone", fail), add(3, "alone", fail), add(1, "alone", not_run);
  std::vector<Analysis> all;
  all.emplace_back(r, std::move(verdicts));
  const std::vector<ModelClaim> claims = claims_by_model(all);

  REQUIRE(claims.size() == 2);
  CHECK(claims[0].is_split());
  CHECK_FALSE(claims[1].is_split());
  CHECK(contains(models_sentence(claims),
                 "2 claims about trained models were judged on two of them or more; 1 of these"));
  const std::string page = as_markdown(models_page(all, claims));
  CHECK(contains(page, "| claim | study | one | two |"));
  CHECK(contains(page, "| **split** | [synthetic](synthetic.md) | **holds** "));
  CHECK(contains(page, "| alike | [synthetic](synthetic.md) | **holds** "));
  CHECK(models_sentence({}).empty());
}

TEST_CASE("Every claim of the paper names a sentence, and every sentence has a claim or a reason") {
  std::set<std::string> tested;
  for (const auto& entry : std::filesystem::directory_iterator(headroom::testing::source_root() + "/experiments")) {
    if (entry.path().extension() != ".toml") continue;
    for (const Study& study : load_profiles(entry.path().string()))
      for (const ClaimConfig& claim : study.head.claims) {
        CAPTURE(entry.path().filename().string(), claim.paper);
        CHECK((source(claim) == ClaimSource::paper) == !claim.sentence.empty());
        tested.insert(claim.sentence);
      }
  }
  for (const PaperSentence& s : paper_sentences()) {
    CAPTURE(s.id);
    CHECK((tested.contains(s.id) || !s.untested.empty()));  // both: its claim is in a profile that none has run
  }
}

}  // namespace
}  // namespace headroom::experiments
