// How often verdicts on simulated runs of other programs are wrong, judged as the command judges them.
#include "experiments/studies/analysis/analysis.h"
#include "experiments/tools/judge/judged.h"
#include "tests/experiments/studies/claims/simulated.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// Two arms of runs whose log losses are normal; the second's are `effect` lower, in standard deviations of a run.
struct ForeignSweep {
  bool pairs = true;   ///< runs of one seed share half of their variance
  double spread = 1;   ///< of the second arm's runs
  int more_seeds = 0;  ///< that the second arm has
  double effect = 0;
};

/// The runs of both arms, the first with so many seeds.
ForeignRuns runs_of(const ForeignSweep& sweep, int seeds, Normals& normal) {
  ForeignRuns all;
  for (int seed = 0; seed < seeds + sweep.more_seeds; ++seed) {
    const double shared = sweep.pairs ? normal.next() : 0;
    for (const bool is_second : {false, true}) {
      if (!is_second && seed >= seeds) continue;
      const double own = normal.next() * (is_second ? sweep.spread : 1);
      const double log_loss = 0.1 * (shared + own - (is_second ? sweep.effect : 0));
      const std::string name = fmt::format("{}{}", is_second && !sweep.pairs ? "other " : "", seed);
      all.runs.push_back({.source = fmt::format("{} {}", is_second, seed),
                          .parameters = {{"arm", is_second ? "second" : "first"}, {"seed", name}},
                          .metrics = {{"loss", {{0, std::exp(log_loss)}}}}});
    }
  }
  return all;
}

/// The verdict on "the second arm's loss is less than the first's" by the first `seeds` seeds of some runs.
VerdictStatus verdict(const ForeignRuns& runs, int seeds, bool anytime) {
  ForeignRuns some;
  for (const ForeignRun& run : runs.runs)
    if (std::stoi(run.source.substr(run.source.rfind(' '))) < seeds) some.runs.push_back(run);
  RunRoles roles;
  roles.metric = "loss";
  roles.series = {"arm"};
  roles.seed = "seed";
  StudyResults results = judged_runs(some, roles).results;
  ClaimConfig claim;
  claim.kind = &claim_kind("less_than");
  claim.series = "second";
  claim.keys.than.series = "first";
  claim.single_rate = "there are no rates";
  results.claims = {claim};
  results.looks.anytime = anytime;
  return analyse(std::move(results)).verdicts().at(0).status;
}

/// How often a pass, and a fail, is the verdict on so many seeds; of `looks`, at any number of seeds from 2 on.
Rates rates_of(const ForeignSweep& sweep, int seeds, bool looks, bool anytime, int many) {
  Normals normal(31 + static_cast<uint64_t>(seeds));
  Rates counted;
  for (int i = 0; i < many; ++i) {
    const ForeignRuns runs = runs_of(sweep, seeds, normal);
    bool passes = false, fails = false;
    for (int n = looks ? 2 : seeds + sweep.more_seeds; n <= seeds + sweep.more_seeds; ++n) {
      const VerdictStatus status = verdict(runs, n, anytime);
      passes |= status == VerdictStatus::pass;
      fails |= status == VerdictStatus::fail;
    }
    counted.pass += passes ? 1.0 / many : 0;
    counted.fail += fails ? 1.0 / many : 0;
  }
  return counted;
}

double most_of(int many) { return level + 4 * std::sqrt(level * (1 - level) / many); }

}  // namespace

TEST_CASE("verdicts on runs of other programs keep their level, paired or not") {
  const int many = studies / 4;
  for (const int seeds : {3, 5, 10})
    for (const ForeignSweep& sweep : {ForeignSweep{},
                                      {.pairs = false},
                                      {.pairs = false, .spread = 3},
                                      {.pairs = false, .spread = 0.3, .more_seeds = 7}}) {
      const Rates found = rates_of(sweep, seeds, false, false, many);
      CAPTURE(seeds, sweep.pairs, sweep.spread, sweep.more_seeds, found.pass, found.fail);
      CHECK(found.pass <= most_of(many));
      CHECK(found.fail <= most_of(many));
      print_row(fmt::format("{} seeds, {}, spread {}, {} more", seeds, sweep.pairs ? "paired" : "unpaired",
                            sweep.spread, sweep.more_seeds),
                {percent_text(found.pass), percent_text(found.fail)});
    }
}

TEST_CASE("verdicts on runs find effects, pairs with fewer seeds") {
  const int many = studies / 5;
  const Rates paired = rates_of({.effect = 2}, 5, false, false, many),
              apart = rates_of({.pairs = false, .effect = 2}, 5, false, false, many),
              anytime = rates_of({.effect = 2}, 5, false, true, many);
  print_row("5 seeds, 2 deviations: paired, unpaired, anytime",
            {percent_text(paired.pass), percent_text(apart.pass), percent_text(anytime.pass)});
  CHECK(paired.pass > 0.6);
  CHECK(apart.pass > 0.5);
  CHECK(anytime.pass > 0.3);
}

TEST_CASE("judging anew with every seed is wrong far too often, and not with anytime verdicts") {
  const int many = prints_table() ? 1000 : 100;
  const Rates anytime = rates_of({}, 20, true, true, many), plain = rates_of({}, 20, true, false, many);
  CAPTURE(anytime.pass, anytime.fail, plain.pass, plain.fail);
  print_row(
      "looking with every seed from 2 to 20: anytime, plain",
      {percent_text(anytime.pass), percent_text(anytime.fail), percent_text(plain.pass), percent_text(plain.fail)});
  CHECK(anytime.pass <= most_of(many));
  CHECK(anytime.fail <= most_of(many));
  CHECK(plain.pass + plain.fail > 3 * level);
}

}  // namespace headroom::experiments
