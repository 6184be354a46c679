// How often somebody looked at the same claims while runs came in, and what each look may spend.
#include "experiments/tools/judge/looks_kept.h"

#include <fmt/format.h>

#include "tests/experiments/judge/judge.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// A claims file next to runs of which more come in.
class Looking : public Judging {
 public:
  explicit Looking(const std::string& roles = "", const std::string& claims = muon_claim + one_rate)
      : Judging(""), roles_(roles) {
    word(claims);
    paths.push_back((folder / "runs.csv").string());
  }
  /// Words the claims anew.
  void word(const std::string& claims) {
    claims_ = "[runs]\nmetric = \"test_loss\"\nseries = \"optimizer\"\n" + roles_ + claims;
    write_bytes(folder / "claims.toml", claims_);
  }
  /// Looks at the first `seeds` seeds of each arm.
  CountedLook look(int seeds, bool is_recorded = true) {
    std::string text = "optimizer,seed,test_loss\n";
    for (int seed = 0; seed < seeds; ++seed)
      for (const bool is_muon : {false, true})
        text += fmt::format("{},{},{}\n", is_muon ? "muon" : "adamw", seed,
                            2.3 + 0.001 * seed + 0.02 * (seed % 3) - (is_muon ? 0.03 + 0.04 * (seed % 2) : 0));
    write_bytes(paths[0], text);
    return look_again(is_recorded);
  }
  CountedLook look_again(bool is_recorded = true) {
    verdicts();
    judged.results.resolved_config = to_toml(read_toml((folder / "claims.toml").string()));
    RunRoles roles = read_roles(read_toml((folder / "claims.toml").string()));
    return count_look(file(), runs, roles, is_recorded, judged.results);
  }
  double share() const { return judged.results.looks.shares.at(0); }
  std::filesystem::path file() const { return looks_beside(folder / "claims.toml"); }
  std::string kept() const { return read_bytes(file()); }

 private:
  std::string roles_, claims_;
};

bool says(const CountedLook& look, const std::string& words) {
  return std::any_of(look.notes.begin(), look.notes.end(), [&](const auto& note) { return contains(note, words); });
}

}  // namespace

TEST_CASE("looks at data that grow are counted, each at a smaller share; the same data are no new look") {
  Looking looking;
  const CountedLook first = looking.look(3);
  CHECK(first.number == 1);
  CHECK(first.notes.empty());
  CHECK(looking.share() == 1);
  const std::string kept = looking.kept();
  CHECK(std::count(kept.begin(), kept.end(), '\n') == 1);
  for (const char* part : {"{\"date\":\"20", "\"claims\":\"", "\"data\":\"", "\"runs\":6"}) CHECK(contains(kept, part));
  CHECK(looking.look(3).number == 1);
  CHECK(looking.kept() == kept);
  CHECK(looking.look(4).number == 2);
  CHECK(looking.share() == 0.5);
  const CountedLook third = looking.look(5);
  CHECK(third.number == 3);
  CHECK(looking.share() == Approx(1.0 / 3));
  REQUIRE(third.notes.size() == 1);
  CHECK(third.notes[0] ==
        "This is look 3 at these claims, so p is compared with 0.05/3. Earlier looks were not planned, so a claim may "
        "be wrong with probability up to 9.2 % (0.05 × (1 + 1/2 + 1/3)); --anytime keeps 5 %, `looks = N` in [runs] "
        "plans them.");
  // Earlier data keep the share that they had.
  CHECK(looking.look(4).number == 2);
  CHECK(looking.share() == 0.5);
  CHECK(looking.look(6).number == 4);
}

TEST_CASE("where the runs stand, in which order and what they are called makes no new look, another value does") {
  Looking looking;
  looking.look(3);
  const std::string text = read_bytes(looking.paths[0]), row = "adamw,0,2.3\n";
  write_bytes(looking.folder / "moved.csv", replaced(text, row, "") + row);
  looking.paths[0] = (looking.folder / "moved.csv").string();
  CHECK(looking.look_again().number == 1);
  write_bytes(looking.paths[0], replaced(text, row, "adamw,0,2.3000001\n"));
  CHECK(looking.look_again().number == 2);
  write_bytes(looking.paths[0], replaced(text, row, "adamw,9,2.3\n"));
  CHECK(looking.look_again().number == 1);
}

TEST_CASE("what passes at the first look is open at a later one with the same p") {
  Looking looking;
  looking.look(4);
  const Verdict alone = analyse(looking.judged.results).verdicts().at(0);
  REQUIRE(alone.status == VerdictStatus::pass);
  REQUIRE(alone.p > 0.001);
  const std::string line = looking.kept();
  std::string earlier;
  for (int i = 0; 0.05 / (i + 1) >= alone.p; ++i)
    earlier += replaced(replaced(line, "\"data\":\"", fmt::format("\"data\":\"{}", i)), "\"divisor\":1",
                        fmt::format("\"divisor\":{}", i + 1));
  write_bytes(looking.file(), earlier);
  looking.look(4);
  const Verdict later = analyse(looking.judged.results).verdicts().at(0);
  CHECK(later.p == Approx(alone.p));
  CHECK(later.status == VerdictStatus::undecided);
}

TEST_CASE("claims that changed are said to, remarks are no change, and the count goes on") {
  Looking looking;
  looking.look(3);
  looking.word(muon_claim + "# a remark\n" + one_rate);
  CHECK(looking.look(3).notes.empty());
  looking.word(muon_claim + "factor = 1.001\nbecause = \"it is so\"\n" + one_rate);
  const CountedLook same_data = looking.look(3);
  CHECK(same_data.number == 1);
  CHECK(says(same_data, "The claims file changed since look 1 (20"));
  const CountedLook grown = looking.look(4);
  CHECK(grown.number == 2);
  CHECK(says(grown, "changed since look 1 ("));
  CHECK(looking.look(4).notes == grown.notes);
}

TEST_CASE("planned looks have equal shares, and those beyond them are as if unplanned") {
  Looking looking("looks = 3\n");
  const CountedLook first = looking.look(3);
  CHECK(first.notes == std::vector<std::string>{"This is look 1 of 3 planned, so p is compared with 0.05/3."});
  CHECK(looking.share() == Approx(1.0 / 3));
  looking.look(4);
  CHECK(looking.look(5).notes.size() == 1);
  CHECK(looking.share() == Approx(1.0 / 3));
  const CountedLook fourth = looking.look(6);
  CHECK(looking.share() == 0.25);
  CHECK(says(fourth,
             "This is look 4 at these claims, so p is compared with 0.05/4. Only 3 looks were planned, so a "
             "claim may be wrong with probability up to 6.3 % (0.05 × (3/3 + 1/4))"));
}

TEST_CASE("a plan that is made after the first look does not undo what that look spent") {
  Looking unplanned;
  unplanned.look(3);
  write_bytes(unplanned.folder / "claims.toml",
              replaced(read_bytes(unplanned.folder / "claims.toml"), "[runs]\n", "[runs]\nlooks = 4\n"));
  const CountedLook second = unplanned.look(4);
  CHECK(unplanned.share() == 0.25);
  CHECK(says(second,
             "Earlier looks were not planned, so a claim may be wrong with probability up to 6.3 % (0.05 × (1 + "
             "1/4))"));
}

TEST_CASE("at any time looks are counted and nothing is corrected; it is no plan as well") {
  Looking looking("anytime = true\n");
  CHECK(looking.look(3).notes.empty());
  const CountedLook second = looking.look(4);
  CHECK(second.number == 2);
  CHECK(second.notes ==
        std::vector<std::string>{"This is look 2 at these claims. Their p-values hold at any number of looks."});
  CHECK(looking.share() == 1);
  CHECK(looking.judged.results.looks.anytime);
  // The same data tested once more, now without.
  looking.word(muon_claim + one_rate);
  write_bytes(looking.folder / "claims.toml",
              replaced(read_bytes(looking.folder / "claims.toml"), "anytime = true\n", ""));
  looking.look(4);
  CHECK(looking.share() == 0.5);
  Looking both("anytime = true\nlooks = 3\n");
  CHECK(contains(error_of([&] { both.look(3); }), "expected either anytime or looks"));
}

TEST_CASE("claims of different significance are told apart in words, and computed ones have no p") {
  const std::string strict =
      muon_claim + one_rate + replaced(muon_claim, "[[claim]]\n", "[[claim]]\nsignificance = 0.01\n");
  Looking looking("", strict + one_rate);
  looking.look(3);
  CHECK(says(looking.look(4), "compared with each claim's significance/2"));
  Looking computed("", replaced(muon_claim, "kind", "deterministic = true\nkind"));
  computed.look(3);
  CHECK(computed.look(4).notes.empty());
}

TEST_CASE("a look that is not recorded is said to be, and counts after those that were") {
  Looking looking;
  CHECK(looking.look(3, false).notes == std::vector<std::string>{"This look is not counted: --no-record"});
  CHECK(!std::filesystem::exists(looking.file()));
  looking.look(3);
  const std::string kept = looking.kept();
  CHECK(looking.look(3, false).notes.empty());
  CHECK(looking.look(4, false).number == 2);
  CHECK(looking.share() == 0.5);
  CHECK(looking.kept() == kept);
}

TEST_CASE("in a folder that cannot be written looks are not counted, which is said") {
  Looking looking;
  looking.look(3);
  const CountedLook look =
      count_look(looking.folder / "missing" / "claims.looks", looking.runs, {}, true, looking.judged.results);
  CHECK(look.number == 1);
  REQUIRE(look.notes.size() == 1);
  CHECK(contains(look.notes[0], "This look is not counted: "));
  CHECK(contains(look.notes[0], "missing/claims.looks: cannot be written"));
}

TEST_CASE("a damaged file of looks is refused by name and line, and a full one stays as it is") {
  Looking looking;
  looking.look(3);
  const std::string line = looking.kept();
  for (const std::string& damaged :
       {line.substr(0, line.size() / 2), std::string("\n"), std::string("[]"), std::string("<<<<<<< HEAD"),
        std::string(200'000, '['), replaced(line, "\"divisor\":1", "\"divisor\":0"),
        replaced(line, "\"divisor\":1", "\"divisor\":1e300"), replaced(line, "\"runs\":6", "\"runs\":\"6\""),
        replaced(line, "\"divisor\":1", "\"divisor\":18446744073709551615"), replaced(line, "\"data\"", "\"date\"")}) {
    write_bytes(looking.file(), line + damaged);
    CHECK(contains(error_of([&] { looking.look(4); }), "claims.looks:2: not a look as headroom judge writes it"));
    CHECK(looking.kept() == line + damaged);
  }
  write_bytes(looking.file(), std::string(2 << 20, 'x'));
  CHECK(contains(error_of([&] { looking.look(4); }), "claims.looks"));
  std::filesystem::remove(looking.file());
  std::filesystem::create_directory(looking.file());
  CHECK(contains(error_of([&] { looking.look(4); }), "claims.looks"));
  std::filesystem::remove(looking.file());
  std::string full;
  for (int i = 0; i < 1000; ++i) full += replaced(line, "\"data\":\"", fmt::format("\"data\":\"{}", i));
  write_bytes(looking.file(), full);
  const CountedLook beyond = looking.look(4);
  CHECK(beyond.number == 1001);
  CHECK(says(beyond, "not counted: "));
  CHECK(looking.kept() == full);
}

}  // namespace headroom::experiments
