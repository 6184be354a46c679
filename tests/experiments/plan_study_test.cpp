// Plans from data: a decay measured on a text, on a run's attention or on kept weights, and a bound fitted to a study.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/run/store.h"
#include "experiments/tools/plan/plan_page.h"
#include "tasks/theory/bound_terms.h"
#include "tests/experiments/program.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

TEST_CASE("a decay from a text and from a run's attention") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += static_cast<char>('a' + (i * i / 7 + i / 3) % 3);
  std::ofstream(folder.path() / "t.txt") << text;
  const Decay of_text = decay_of_text((folder.path() / "t.txt").string(), 4);
  CHECK(of_text.norms.size() == 4);
  CHECK(of_text.token_dim == 3);
  CHECK(of_text.is_estimated);
  CHECK(contains(error_of([&] { decay_of_text((folder.path() / "none").string(), 4); }), "none"));
  CHECK(contains(error_of([&] { decay_of_text((folder.path() / "t.txt").string(), 200); }), "--from-text"));
  CHECK(contains(error_of([&] { decay_of_text((folder.path() / "t.txt").string(), 0); }), "--terms"));

  const auto trial = [](const std::string& id, double error, const std::vector<double>& attention) {
    TrialRecord record;
    record.id = id;
    record.validation["mse"] = error;
    record.test["mse"] = error;
    for (size_t lag = 0; lag < attention.size(); ++lag)
      record.test[fmt::format("attention_at_lag_{}", lag)] = attention[lag];
    return record;
  };
  {
    RunStore store(folder.path() / "run" / "store.sqlite");
    store.put(trial("aaaa", 0.5, {0, 1, 1}));
    store.put(trial("bbbb", 0.1, {3, 2, 1}));
    store.put(trial("cccc", 0.01, {}));
    store.set_plan(
        {{"id", "s"}},
        {{"aaaa", "", "heads=1", 1, {}, 0}, {"bbbb", "", "heads=2", 2, {}, 0}, {"cccc", "", "heads=4", 4, {}, 0}});
  }
  const Decay of_run = decay_of_study(StudyRun((folder.path() / "run").string()), 32, {});
  CHECK(of_run.norms == std::vector<double>{1, 0.5});
  CHECK(contains(of_run.source, "trial bbbb (heads=2)"));
  CHECK(fit_study(StudyRun((folder.path() / "run").string())).empty());
  CHECK(contains(error_of([&] { StudyRun(folder.path().string()); }), "--from-study"));
  CHECK(contains(error_of([&] { StudyRun((folder.path() / "t.txt").string()); }), "--from-study"));
  CHECK(contains(error_of([&] { StudyRun((folder.path() / "run").string(), "x"); }), "--series"));
}

TEST_CASE("a run in rounds is read with the trials of all of them, under its own profile and level") {
  const TemporaryFolder folder;
  std::string text =
      replaced(small_study(), "seed                 = [1, 2]", "seed = { from = 1, until = \"decided\", at_most = 6 }");
  text = replaced(text, "best_of = [1e-3, 1e-2]", "best_of = [1e-2]");
  text = replaced(text, "kind = \"optimum_at\"\namong = [2]", "kind = \"less_than\"\nat = 2\nthan = { at = 1 }");
  const std::filesystem::path run = folder.path() / "quick";
  std::filesystem::create_directories(run);
  std::ofstream(run / "config.toml") << text;
  const Study study = load_study((run / "config.toml").string());
  REQUIRE_FALSE(study.later.empty());
  {
    RunStore store(run / "store.sqlite");
    std::vector<PlanEntry> plan;
    for (const auto* trials : {&study.trials, &study.later})
      for (const PlannedTrial& planned : *trials) {
        TrialRecord record;
        record.id = planned.id;
        // Seeds differ by more than heads do: undecided with three seeds.
        const double error = 0.1 * (planned.seed % 3 == 0 ? planned.x : 1 / planned.x);
        record.validation["relative_mse"] = record.test["relative_mse"] = error;
        store.put(record);
        plan.push_back({planned.id, planned.series, planned.label, planned.x, planned.choice, planned.seed});
      }
    store.set_plan({{"id", "small"}}, plan);
  }
  const StudyRun read(run.string());
  REQUIRE(read.trials().size() == study.trials.size() + study.later.size());
  for (const StudyRun::Trial& trial : read.trials()) CHECK(trial.config != nullptr);
  const StudyResults results = read.results();
  CHECK(results.profile == "quick");
  CHECK(results.planned == std::ssize(read.trials()));
  CHECK(results.looks.share(series_of(results, results.claims.at(0))) < 1);
  CHECK(read.problem().empty());
  std::ofstream(run / "config.toml") << replaced(text, "kind = \"less_than\"", "kind = \"less\"");
  CHECK(contains(StudyRun(run.string()).problem(), "claim.kind"));
}

TEST_CASE("the bound's terms are fitted to a study's curve, and found again") {
  const TemporaryFolder folder;
  const std::string text = replaced(small_study(), "\"model.heads\"        = [1, 2]", "\"model.heads\" = [1, 2, 4, 8]");
  std::filesystem::create_directories(folder.path() / "run");
  std::ofstream(folder.path() / "run" / "config.toml") << text;
  const Study study = load_study((folder.path() / "run" / "config.toml").string());
  const std::vector<double> rho{1, 1};
  const double scales[] = {0.25, 0.125, 0.5, 0.0625};  // of projection, extraction, truncation; the floor
  {
    RunStore store(folder.path() / "run" / "store.sqlite");
    std::vector<PlanEntry> plan;
    for (const PlannedTrial& planned : study.trials) {
      const auto heads = static_cast<int64_t>(planned.x);
      const tasks::BoundTerms terms =
          tasks::bound_terms(rho, tasks::equal_heads(rho, heads, 8 / heads, 2).groups, 2, 0.05);
      const double rms =
          scales[0] * terms.projection + scales[1] * terms.extraction + scales[2] * terms.truncation + scales[3];
      TrialRecord record;
      record.id = planned.id;
      // The other learning rate is worse, and is not the one that a curve shows.
      const double worse = planned.choice.begin()->second == 1e-3 ? 1 : 3;
      record.validation["relative_mse"] = record.test["relative_mse"] = worse * rms * rms / 2;  // Var(y) = 2
      store.put(record);
      plan.push_back({planned.id, planned.series, planned.label, planned.x, planned.choice, planned.seed});
    }
    store.set_plan({{"id", "small"}}, plan);
  }
  const StudyRun run((folder.path() / "run").string());
  const Decay decay = decay_of_study(run, 32, {});
  CHECK(decay.norms == rho);  // neither attention nor weights: the target's own
  CHECK_FALSE(decay.is_estimated);
  CHECK(decay.token_dim == 2);
  const std::vector<StudyFit> fits = fit_study(run);
  REQUIRE(fits.size() == 1);
  const StudyFit& fit = fits[0];
  CHECK(fit.projection == Approx(scales[0]));
  CHECK(fit.extraction == Approx(scales[1]));
  CHECK(fit.truncation == Approx(scales[2]));
  CHECK(fit.floor == Approx(scales[3]));
  CHECK(fit.r2 == Approx(1));
  CHECK(fit.times_off == Approx(1));
  REQUIRE(fit.points.size() == 4);
  CHECK(fit.measured_best == fit.fitted_best);
  CHECK(fit.points[0].bound == 2);  // one head: both lags dropped
  CHECK(fit.width == 8);
  AllocationRequest request;
  request.width = 16;
  request.token_dim = 2;
  request.decay = decay;
  request.fits = fits;
  const AllocationPlan plan = plan_allocation(request);
  REQUIRE(plan.fitted.has_value());
  const tasks::BoundTerms terms = tasks::bound_terms(rho, plan.fitted->best.groups, 2, 0.05);
  CHECK(plan.fitted->rms ==
        Approx(scales[0] * terms.projection + scales[1] * terms.extraction + scales[2] * terms.truncation + scales[3]));
  CHECK(contains(allocation_text(plan), "fit, R² 1.00"));
  CHECK(allocation_json(plan)["fit"]["series"][0]["r2"].get<double>() == Approx(1));
  CHECK(contains(fit_text(fit), "describes what was measured"));
  StudyFit flat = fit;
  flat.r2 = 0.28;
  request.fits = {flat};
  CHECK_FALSE(plan_allocation(request).fitted.has_value());  // what describes nothing plans nothing
  CHECK(contains(fit_text(flat), "does not describe"));
  StudyFit bad = fit;
  bad.times_off = 9;
  bad.truncation = 0;
  CHECK(contains(fit_text(bad), "does not describe"));
  CHECK(contains(fit_text(bad), "charges nothing for a lag without heads"));
  CHECK(fitted_error(bad, 2)({1, 4, 2}) == 1);
}

TEST_CASE("a language study's kept weights are run, and their attention by lag measured") {
  const TemporaryFolder folder;
  const auto file = std::filesystem::path(source_root()) / "experiments" / "nanogpt-shakespeare.toml";
  output_of(folder.path(), "run " + file.string() + " --profile smoke --quiet --out runs");
  const auto path = folder.path() / "runs" / "nanogpt-shakespeare" / "smoke";
  const StudyRun run(path.string());
  REQUIRE_FALSE(run.trials().empty());
  const StudyRun::Trial& trial = run.trials()[0];
  REQUIRE(trial.config != nullptr);
  const auto weights = run.weights_of(trial);
  const std::vector<double> heads = measure_attention(*trial.config, weights, 5, {});
  REQUIRE(heads.size() == 5);
  double sum = 0;
  for (const double value : heads) sum += value;
  CHECK(sum > 0);
  CHECK(sum < 4);  // one layer of four heads, of which lag 0 has some
  CHECK(measure_attention(*trial.config, weights, 100, {}).size() == 8);  // half the context
  const Decay decay = decay_of_study(run, 5, {});
  CHECK(decay.is_estimated);
  CHECK(*std::max_element(decay.norms.begin(), decay.norms.end()) == 1);
  CHECK(contains(decay.source, "measured over all layers"));
  CHECK(fit_study(run).empty());
  const auto plan = [&](const std::string& arguments) {
    return "plan --from-study runs/nanogpt-shakespeare/smoke --terms 5 " + arguments;
  };
  CHECK(nlohmann::json::parse(output_of(folder.path(), plan("--width 16 --token-dim 4 --json")))["decay"]["norms"]
            .get<std::vector<double>>() == decay.norms);
  CHECK(complaint(folder.path(), plan("--width 16"), 1) ==
        "headroom: error: missing: --token-dim, the width of a token, d: how many numbers of each earlier token the "
        "target uses, at most D\n");
  for (const StudyRun::Trial& each : run.trials()) std::filesystem::resize_file(run.weights_of(each), 100);
  CHECK(contains(error_of([&] { decay_of_study(run, 5, {}); }), "--from-study: "));
}
