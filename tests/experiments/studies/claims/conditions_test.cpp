// What leaves a comparison open: rates that were not tuned, x that were not learned, seeds that part, training too
// short.
#include "experiments/studies/analysis/verdict.h"

#include "tests/experiments/studies/claims/verdict.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
using namespace testing;

TEST_CASE("a best choice at the edge of its grid weakens the verdict") {
  StudyResults r = study({}, {});
  for (double x : {1, 2, 4})
    for (double lr : {0.01, 0.02})
      for (int seed : {0, 1}) {
        TrialRecord t = testing::trial(x, seed, (x == 2 ? 1 : 2) + lr);
        t.choice = {{"train.optimizer.lr", lr}};
        r.trials.push_back(t);
      }
  const Verdict v = verdict(r, interior());
  REQUIRE(v.notes.size() == 2);
  CHECK(v.notes[0] == "at heads = 1, 2, 4 the best lr is 0.01, an end of the values tried");
}

TEST_CASE("a rate that is the only one tried weakens the verdict") {
  StudyResults r = u_curve();
  for (TrialRecord& t : r.trials) t.choice = {{"train.optimizer.lr", 0.01}};
  CHECK(
      contains(verdict(r, interior()).notes.at(0), "at heads = 1, 2, 4, 8, 16 the lr is 0.01, and no other was tried"));
}

TEST_CASE("where no x has learned the target, nothing is said of the number of heads") {
  const auto judged = [](double scale) {
    StudyResults r = study({1, 2, 4}, {{0.9, 0.91, 0.89}, {0.6, 0.61, 0.59}, {0.8, 0.81, 0.79}});
    r.report.y_metric = "relative_mse";
    for (TrialRecord& t : r.trials) t.validation["relative_mse"] = t.test["relative_mse"] = scale * t.test["mse"];
    r.claims = {claim("interior_optimum")};
    return judge(r).at(0);
  };
  CHECK(judged(0.5).status == VerdictStatus::pass);
  const Verdict verdict = judged(1);
  CHECK(verdict.status == VerdictStatus::undecided);
  CHECK_FALSE(verdict.is_learned);
  CHECK_FALSE(verdict.seeds_needed);
  CHECK(contains(sentence(verdict), "even the least error leaves 0.600 of the target's variance"));
}

TEST_CASE("a claim says what learning takes") {
  const auto judged = [](const char* metric, std::optional<double> learned_at) {
    StudyResults r = study({1, 2, 4}, {{3.3, 3.31, 3.29}, {3.0, 3.01, 2.99}, {3.2, 3.21, 3.19}});
    r.report.y_metric = metric;
    for (TrialRecord& t : r.trials) t.validation[metric] = t.test[metric] = t.test["mse"];
    r.claims = {claim("interior_optimum")};
    r.claims[0].learned_at = learned_at;
    return judge(r).at(0);
  };
  CHECK(judged("cross_entropy", {}).is_learned);
  CHECK(judged("cross_entropy", 3.35).is_learned);
  const Verdict verdict = judged("cross_entropy", 2.5);
  CHECK(verdict.status == VerdictStatus::undecided);
  CHECK_FALSE(verdict.is_learned);
  CHECK(contains(sentence(verdict),
                 "nothing was learned here, as even the best cross_entropy is 3.00, and learning takes 2.5."));
  CHECK(judged("accuracy", 2.95).is_learned);  // larger is better
  CHECK_FALSE(judged("accuracy", 3.4).is_learned);
}

TEST_CASE("numbers of heads are compared only at rates that were tuned for each") {
  // The middle is best by far, at rates among which validation prefers `best`.
  const auto judged = [](const std::vector<double>& rates, double best, const std::string& why = "") {
    StudyResults r = u_curve();
    std::vector<TrialRecord> trials;
    for (const TrialRecord& one : r.trials)
      for (double rate : rates) {
        TrialRecord t = one;
        t.id += std::to_string(trials.size());
        t.choice = {{"train.optimizer.lr", rate}};
        t.test["mse"] *= rate == best ? 1 : 2;
        t.validation["mse"] = 1.01 * t.test["mse"];
        trials.push_back(t);
      }
    r.planned = std::ssize(trials);
    r.trials = trials;
    r.claims = {interior()};
    r.claims[0].single_rate = why;
    return judge(r).at(0);
  };
  CHECK(judged({1e-3, 1e-2, 1e-1}, 1e-2).status == VerdictStatus::pass);
  const Verdict alone = judged({1e-3}, 1e-3);
  CHECK(alone.status == VerdictStatus::undecided);
  CHECK_FALSE(alone.is_tuned);
  CHECK_FALSE(alone.seeds_needed);
  CHECK(contains(sentence(alone), "Undecided: only one value of lr was tried, and which is best may depend on heads."));
  const Verdict edge = judged({1e-3, 1e-2, 1e-1}, 1e-1);
  CHECK(edge.status == VerdictStatus::undecided);
  CHECK(contains(sentence(edge), "the best lr stands at an end of the values tried"));
  const Verdict excused = judged({1e-3}, 1e-3, "it was tuned for each in another study");
  CHECK(excused.status == VerdictStatus::pass);
  REQUIRE_FALSE(excused.notes.empty());
  CHECK(excused.notes[0] == "rates not tuned for each x: it was tuned for each in another study");
}

TEST_CASE("a rate that was chosen on the items that are reported decides nothing") {
  // Each x has three rates of which validation prefers the middle one; the test items are those of validation, or
  // others.
  const auto judged = [](double others) {
    StudyResults r = u_curve();
    std::vector<TrialRecord> trials;
    for (const TrialRecord& one : r.trials)
      for (const double rate : {1e-3, 1e-2, 1e-1}) {
        TrialRecord t = one;
        t.id += std::to_string(trials.size());
        t.choice = {{"train.optimizer.lr", rate}};
        t.test["mse"] *= rate == 1e-2 ? 1 : 2;
        t.validation["mse"] = t.test["mse"] * others;
        trials.push_back(t);
      }
    r.planned = std::ssize(trials);
    r.trials = trials;
    return verdict(r, interior());
  };
  CHECK(judged(1.01).status == VerdictStatus::pass);
  const Verdict shared = judged(1);
  CHECK(shared.status == VerdictStatus::undecided);
  CHECK(shared.needs == "a test set apart from the items that rates are chosen on");
  CHECK(says(shared, "Undecided: the best lr was chosen on the very items that are reported."));
}

TEST_CASE("no number of seeds is given where a model of twice the size is no better") {
  const auto judged = [](int64_t of_largest, double error) {
    StudyResults r = study({1, 2}, {{2.05, 2.10, 2.02}, {error, error - 0.09, error + 0.05}});
    r.report.y_metric = "cross_entropy";
    for (TrialRecord& t : r.trials) {
      t.parameters = t.x == 2 ? of_largest : 1000;
      t.validation["cross_entropy"] = t.test["cross_entropy"] = t.test["mse"];
    }
    return verdict(r, claim("worse_than_best", {.at = 1, .factor = 1.01}));
  };
  const Verdict larger = judged(4000, 2.08);
  CHECK(larger.status == VerdictStatus::undecided);
  CHECK_FALSE(larger.seeds_needed);
  CHECK(larger.needs == "training, or rates, that make the larger models better");
  CHECK(says(larger, "at heads = 2 the model has 4.00 times the parameters of that at 1 and is not 1.01 times better"));
  CHECK(judged(1500, 2.08).needs.empty());
  CHECK(judged(4000, 1.0).status == VerdictStatus::pass);
}

TEST_CASE("without a limit of its own a claim on a text is held to what one token tells") {
  StudyResults r = study({1, 2}, {{2.6, 2.61, 2.62}, {2.52, 2.53, 2.51}});
  r.report.y_metric = "cross_entropy";
  for (TrialRecord& t : r.trials) t.validation["cross_entropy"] = t.test["cross_entropy"] = t.test["mse"];
  ClaimConfig c = claim("worse_than_best", {.at = 1, .factor = 1.01});
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  for (TrialRecord& t : r.trials)
    t.config = R"({"task":{"kind":"next-token","source":"tinyshakespeare","tokenizer":"char"}})";
  CHECK(says(verdict(r, c),
             "even the best cross_entropy is 2.52, and a table that sees one token and no other place "
             "reaches 2.5."));
  CHECK_FALSE(verdict(r, c).is_learned);
  c.learned_at = 2.7;
  CHECK(verdict(r, c).status == VerdictStatus::pass);
}

TEST_CASE("an x that some seeds did not learn decides nothing, and is named") {
  const auto judged = [](const std::vector<double>& first, ClaimConfig c) {
    StudyResults r = study({1, 2, 4, 8}, {first, {0.2, 0.21, 0.19}, {0.01, 0.011, 0.0095}, {0.3, 0.31, 0.29}});
    r.report.y_metric = "relative_mse";
    for (TrialRecord& t : r.trials) t.validation["relative_mse"] = t.test["relative_mse"] = t.test["mse"];
    return verdict(r, c);
  };
  const std::vector<double> learned{0.3, 0.31, 0.29}, split{0.3, 0.9, 0.29}, none{0.9, 0.91, 0.93};
  CHECK(judged(learned, interior()).status == VerdictStatus::pass);
  const Verdict open = judged(split, interior());
  CHECK(open.status == VerdictStatus::undecided);
  CHECK_FALSE(open.is_learned);
  CHECK_FALSE(open.seeds_needed);
  CHECK(says(open, "Undecided: only 2 of 3 seeds learned the target at heads = 1."));
  CHECK(says(judged(none, interior()), "Undecided: no seed learned the target at heads = 1."));
  // Where others decide, it is named all the same.
  const Verdict beaten = judged(none, within(8, 2));
  CHECK(beaten.status == VerdictStatus::fail);
  CHECK(beaten.notes[0] == "no seed learned the target at heads = 1: models that did not learn decide nothing");
  ClaimConfig without = interior();
  without.from = 2;
  CHECK(judged(none, without).status == VerdictStatus::pass);
  CHECK(judged(none, without).is_learned);
  // What noise leaves undecided is so as before.
  CHECK(judged(none, within(8, 29)).seeds_needed > 3);
  CHECK(judged(none, within(8, 29)).is_learned);

  // A claim's own limit is of its own metric, and larger may be better.
  StudyResults r = study({1, 2}, {{0.5, 0.9, 0.91}, {0.95, 0.96, 0.97}});
  for (TrialRecord& t : r.trials) t.test["accuracy"] = t.validation["accuracy"] = t.test["mse"];
  ClaimConfig c = claim("worse_than_best", {.at = 1});
  c.metric = "accuracy";
  c.learned_at = 0.6;
  CHECK(verdict(r, c).notes[0].starts_with("only 2 of 3 seeds learned the target at heads = 1: "));
  c.metric = "mse";
  c.learned_at = 0.98;
  CHECK(verdict(r, c).is_learned);
}

TEST_CASE("a series or a change of a gap that was not learned decides nothing") {
  StudyResults r = study({1, 2}, {{0.1, 0.11, 0.12}, {0.1, 0.11, 0.13}});
  const std::vector<TrialRecord> own = r.trials;
  for (TrialRecord& t : r.trials) t.series = "own";
  for (TrialRecord t : own) {
    t.series = "other";
    t.id += "-other";
    t.test["mse"] = t.x == 2 && t.seed == 0 ? 0.8 : 0.3 + 0.01 * static_cast<double>(t.seed * t.seed);
    r.trials.push_back(t);
  }
  for (TrialRecord& t : r.trials) t.test["relative_mse"] = t.validation["relative_mse"] = t.test["mse"];
  r.series = {"own", "other"};
  r.report.y_metric = "relative_mse";
  r.planned = std::ssize(r.trials);
  ClaimConfig less = claim("less_than", {.than = {.series = "other"}});
  less.series = "own";
  CHECK(says(verdict(r, less), "only 2 of 3 seeds of other learned the target at heads = 2."));
  less.to = 1;
  CHECK(verdict(r, less).status == VerdictStatus::pass);
  ClaimConfig gap = claim("gap", {.direction = "falls_behind", .than = {.series = "other"}});
  gap.series = "own";
  CHECK(verdict(r, gap).notes[0].starts_with("only 2 of 3 seeds of other learned the target at heads = 2: "));
}

TEST_CASE("a comparison says after how many steps, where all did as many") {
  StudyResults r = u_curve();
  CHECK(words_of(verdict(r, interior())).found.starts_with("with 1 head the error is"));
  for (TrialRecord& t : r.trials) t.steps = 400;
  CHECK(words_of(verdict(r, interior())).found.starts_with("after 400 steps, with 1 head the error is"));
  CHECK(says(verdict(r, interior()), "After 400 steps, with 1 head"));
  r.trials[0].steps = 300;
  CHECK(words_of(verdict(r, interior())).found.starts_with("with 1 head the error is"));
  ClaimConfig rest = argmin({4});
  rest.from = 2;
  CHECK(words_of(verdict(r, rest)).found.starts_with("after 400 steps, with "));
  ClaimConfig computed = interior();
  computed.deterministic = true;
  computed.from = 2;
  CHECK(words_of(verdict(r, computed)).found.starts_with("with 2 heads"));
}

TEST_CASE("a learning curve that still falls in its last tenth is named") {
  StudyResults r = u_curve();
  const auto falls = [](const Verdict& v) {
    for (const std::string& note : v.notes)
      if (contains(note, "the learning curve")) return note;
    return std::string();
  };
  for (TrialRecord& t : r.trials) {
    t.steps = 100;
    for (int64_t step = 5; step <= 100; step += 5)
      t.history.push_back({step, "train", "loss", step > 90 && t.x <= 2 ? 0.5 : 0.6});
  }
  CHECK(falls(verdict(r, interior(1.1))) ==
        "at heads = 1, 2 the learning curve still fell by up to 1.20× in the last tenth of the training");
  CHECK(falls(verdict(r, interior(1.25))).empty());
  CHECK(falls(verdict(r, interior())) != "");  // the usual smallest effect of an error, 1.1
  // The metric itself, where it was validated often enough.
  for (TrialRecord& t : r.trials) t.history.push_back({100, "validation", "mse", 0.1});
  CHECK(falls(verdict(r, interior(1.1))) != "");
  for (TrialRecord& t : r.trials) t.history.push_back({90, "validation", "mse", 0.1});
  CHECK(falls(verdict(r, interior(1.1))).empty());
  for (TrialRecord& t : r.trials) t.history.back().value = t.x == 4 ? 0.13 : 0.1;
  CHECK(falls(verdict(r, interior(1.1))) ==
        "at heads = 4 the learning curve still fell by up to 1.30× in the last tenth of the training");
}

}  // namespace headroom::experiments
