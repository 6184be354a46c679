// Claims that are sealed before the first trial: what has changed since, and what had begun.
#include "experiments/studies/config/seal.h"

#include "experiments/studies/toml/document.h"
#include "experiments/studies/words/verdict_words.h"
#include "tests/experiments/judge/judge.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

const std::string sealed_claims = tuned_runs + muon_claim + "id = \"muon\"\nfactor = 1.02\nbecause = \"two percent\"\n";
constexpr int64_t noon = 1'767'268'800;  // 2026-01-01 12:00 UTC

/// A trial that ran for a minute and ended so many seconds after noon.
TrialRecord trial(int64_t seed, double ended) {
  TrialRecord one;
  one.seed = seed;
  one.ended = static_cast<double>(noon) + ended;
  one.seconds = 60;
  return one;
}

/// What results with these trials say of claims that were sealed at noon and now are `today`.
StudyResults sealed_results(std::vector<TrialRecord> trials, const std::string& today = sealed_claims) {
  const TemporaryFolder folder;
  write_claim_seal(folder / "claims.sealed.json", {noon, "0.1.0 (abc1234)", sealed_claims});
  StudyResults results;
  results.trials = std::move(trials);
  results.claims.resize(2);
  results.claims[1].worded_after = "a pilot";
  apply_seal(folder / "claims.sealed.json", today, results);
  return results;
}

}  // namespace

TEST_CASE("claims sealed before the first trial say so") {
  const StudyResults results = sealed_results({trial(1, 60), trial(2, 300)});
  CHECK(seal_lines(results) ==
        std::vector<std::string>{"Claims sealed on 2026-01-01 12:00 UTC, before the first trial."});
  CHECK(results.claims[0].worded_after.empty());
}

TEST_CASE("trials that had begun by then are named, and count as seen when the claims were worded") {
  const StudyResults results = sealed_results({trial(1, -100), trial(3, 59), trial(4, 600)});
  CHECK(seal_lines(results) ==
        std::vector<std::string>{"Claims sealed on 2026-01-01 12:00 UTC, after 2 trials (seeds 1 to 3) had begun."});
  CHECK(results.claims[0].worded_after == "2 trials (seeds 1 to 3)");
  CHECK(results.claims[1].worded_after == "a pilot");
}

TEST_CASE("runs that do not say when they began may be older than the seal") {
  TrialRecord undated;
  CHECK(seal_lines(sealed_results({trial(1, 600), undated})).front().find("may be older") != std::string::npos);
}

TEST_CASE("what has changed since a seal is said key by key; remarks, order and titles are no change") {
  const auto changes = [](const std::string& today) { return seal_lines(sealed_results({trial(1, 600)}, today)); };
  CHECK(changes("# a remark\n[study]\ntitle = \"New\"\n\n" + replaced(sealed_claims, "1.02", "1.020")).size() == 1);
  const auto moved = changes(replaced(sealed_claims, "factor = 1.02", "factor = 1.01"));
  REQUIRE(moved.size() == 2);
  CHECK(moved[1] == "Changed since: claim “muon”: factor = 1.01 (was 1.02)");
  const auto new_seed = changes(replaced(sealed_claims, "[runs]\n", "[runs]\nseed = \"s\"\n"));
  REQUIRE(new_seed.size() == 2);
  CHECK(new_seed[1] == "Changed since: runs.seed = \"s\" (new)");
  const auto gone = changes(tuned_runs);
  CHECK(gone.size() == 1 + 6);
  CHECK(gone[1].find("is gone (was ") != std::string::npos);
}

TEST_CASE("a trial of another version of the program is a change") {
  TrialRecord other = trial(1, 600);
  other.code = "0.1.0 (fffffff)";
  const auto lines = seal_lines(sealed_results({other}));
  REQUIRE(lines.size() == 2);
  CHECK(lines[1] == "Changed since: program: 0.1.0 (fffffff) (was 0.1.0 (abc1234))");
}

TEST_CASE("a seal that was changed, cut or is something else is refused by name, and none is no seal") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "claims.sealed.json";
  StudyResults results;
  apply_seal(file, sealed_claims, results);
  CHECK(!results.seal);
  write_claim_seal(file, {noon, "0.1.0", sealed_claims});
  const std::string text = read_bytes(file);
  const auto refused = [&](const std::string& bytes, const char* why) {
    write_bytes(file, bytes);
    CHECK_THROWS_WITH(apply_seal(file, sealed_claims, results),
                      Catch::Contains("claims.sealed.json") && Catch::Contains(why));
  };
  refused(replaced(text, "1.02", "1.01"), "checksum");
  refused(replaced(text, std::to_string(noon), std::to_string(noon - 1)), "checksum");
  for (const std::string& bytes : {text.substr(0, text.size() / 2), std::string("[]"), std::string("{}"),
                                   std::string("{\"sealed\": 1e300}"), std::string()})
    refused(bytes, "not a seal");
}

}  // namespace headroom::experiments
