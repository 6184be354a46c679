#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/error.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/toml/expression.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

/// The problems of a study file, one line each, without the file's name; "" stands for a file that is right.
std::vector<std::string> problems_of(const std::string& text, const std::vector<std::string>& settings = {}) {
  const StudyFile file(text);
  try {
    load_study(file.path(), base_profile, settings);
    return {};
  } catch (const ConfigError& error) {
    std::vector<std::string> lines;
    for (std::string line : error.problems()) {
      if (line.rfind(file.path() + ":", 0) == 0) line = line.substr(file.path().size() + 1);
      lines.push_back(line);
    }
    return lines;
  } catch (const Error& error) {
    const std::string line = error.what();
    return {line.rfind(file.path() + ":", 0) == 0 ? line.substr(file.path().size() + 1) : line};
  }
}

std::string only_problem(const std::string& text, const std::vector<std::string>& settings = {}) {
  const std::vector<std::string> problems = problems_of(text, settings);
  CAPTURE(problems);
  REQUIRE(problems.size() == 1);
  return problems[0];
}

}  // namespace

TEST_CASE("a right study file has no problems") { CHECK(problems_of(small_study()).empty()); }

TEST_CASE("each mistake is named with its place, expected its path and what") {
  struct Case {
    const char *line, *instead, *problem;
  };
  // Lines of small_study(): [study] 1, [task] 5, [model] 11, [train] 20, [sweep] 26, [report] 31, [[claim]] 35.
  const std::vector<Case> cases{
      {"steps     = 6", "stesp     = 6", "23:1: train.stesp: unknown key; did you mean train.steps?"},
      {"optimizer = {", "optimiser = {", "25:1: train.optimiser: unknown key; did you mean train.optimizer?"},
      {"lr = 1e-3", "learning_rate = 1e-3", "25:31: train.optimizer.learning_rate: unknown key"},
      {"layers    = 1", "head      = 1", "14:1: model.head: unknown key; did you mean model.heads?"},
      {"layers    = 1", "batch     = 4", "14:1: model.batch: unknown key; did you mean train.batch?"},
      {"steps     = 6", "steps     = 0", "23:1: train.steps: 0 is out of range: expected in [1, 1000000000000]"},
      {"steps     = 6", "steps     = -3", "23:1: train.steps: -3 is out of range: expected in [1, 1000000000000]"},
      {"steps     = 6", "steps     = 6.0", "23:1: train.steps: expected an integer, got a real number 6"},
      {"steps     = 6", "steps     = true", "23:1: train.steps: expected an integer, got a boolean"},
      {"steps     = 6", "steps     = [6]", "23:1: train.steps: expected an integer, got a list"},
      {"steps     = 6", "steps     = \"batch / 3\"",
       "23:1: train.steps: expected an integer, but \"batch / 3\" is 1.3333333333333333; round(…) makes it one"},
      {"steps     = 6", "steps     = \"round(batch / 3) + floor(1.9) + ceil(0.1)\"", ""},
      {"steps     = 6", "steps     = \"bacth * 3\"",
       "23:1: train.steps: bacth is not a number that is set here; those of this table: batch"},
      {"steps     = 6", "steps     = \"steps + 1\"", "23:1: train.steps: train.steps depends on itself"},
      {"beta2 = 0.99", "eps = -1e-3", "25:42: train.optimizer.eps: -0.001 is out of range: expected > 0"},
      {"beta2 = 0.99", "eps = nan", "25:42: train.optimizer.eps: nan is not finite"},
      {"beta2 = 0.99", "eps = inf", "25:42: train.optimizer.eps: inf is not finite"},
      {"beta2 = 0.99", "beta2 = 1.0", "25:42: train.optimizer.beta2: 1 is out of range: expected in [0, 1)"},
      {"\"adamw\"", "\"adamv\"",
       "25:15: train.optimizer.kind: expected one of sgd, adam, adamw, muon, got \"adamv\"; did you mean \"adam\"?"},
      {"positions = \"sinusoidal\"", "positions = 3", "17:1: model.positions: expected one of none, sinusoidal, "},
      {"causal    = true", "causal    = 1", "18:1: model.causal: expected true or false, got an integer"},
      {"causal    = true", "dropout   = 1.0", "18:1: model.dropout: 1 is out of range: expected in [0, 1)"},
      {"causal    = true", "rope_dim  = 2", "18:1: model.rope_dim: is for positions that turn: rope, rope_alibi"},
      {"positions = \"sinusoidal\"", "positions = \"rope\"\nrope_dim = 6",
       "18:1: model.rope_dim: 6: expected an even number, at most the 4 of a head's queries"},
      {"causal    = true", "kv_heads  = 3", "18:1: model.kv_heads: 3 does not divide the 1 heads"},
      {"kind      = \"encoder\"", "kind      = \"decoder\"", ""},
      {"width     = 8", "width     = 9", "16:1: model.head_dim: expected an integer, but \"width / heads\" is 4.5"},
      {"token_dim = 2", "token_dim = \"two\"",
       "8:1: task.token_dim: two is not a number that is set here; those of this table: length, first_position"},
      {"first_position = 1", "first_position = 6",
       "10:1: task.first_position: 6 is out of range: expected < task.length = 6"},
      {"kind      = \"linear-functional\"", "kind      = \"linear\"", "6:1: task.kind: expected one of "},
      {"id    = \"small\"", "id    = \"../small\"",
       "2:1: study.id: expected letters, digits, - and _, a letter or digit first (it names a folder), at most 100, "
       "got \"../small\""},
      {"id    = \"small\"", "", "1:1: study.id: missing"},
      {"[1, 2]", "[1, 2, 2]", "27:31: sweep.model.heads: 2 is given twice"},
      {"[1, 2]", "[]", "27:1: sweep.model.heads: expected a list of values, { best_of = [values] }, or "},
      {"[1, 2]", "[1, \"two\"]", "27:1: model.heads: two is not a number that is set here; "},
      {"seed                 = [1, 2]", "seed                 = [1, -2]",
       "29:28: sweep.seed: expected integers >= 0, got -2"},
      {"{ best_of = [1e-3, 1e-2] }", "[1e-3, 1e-2]",
       "35:1: claim.series: missing: the study has several series (lr=0.001, lr=0.01)"},
      {"{ best_of = [1e-3, 1e-2] }", "{ best_of = [\"1\"] }",
       "28:37: sweep.train.optimizer.lr: best_of needs numbers, got \"1\""},
      {"{ best_of = [1e-3, 1e-2] }", "{ best_off = [1e-3] }", "28:1: sweep.train.optimizer.lr: expected a list of "},
      {"\"train.optimizer.lr\" =", "\"train.optimiser.lr\" =",
       "28:1: train.optimiser: unknown key; did you mean train.optimizer?"},
      {"\"train.optimizer.lr\" =", "\"trian.optimizer.lr\" =", "28:1: sweep.trian.optimizer.lr: unknown key"},
      {"scale = \"log2\"", "s = \"log2\"", "32:28: report.x.s: unknown key; those of report.x are key, label, scale"},
      {"scale = \"log2\"", "scale = \"log3\"",
       "32:28: report.x.scale: expected one of linear, log2, log10, got \"log3\"; did you mean \"log2\"?"},
      {"metric = \"relative_mse\"", "metric = \"acuracy\"",
       "33:7: report.y.metric: there is no \"acuracy\"; did you mean \"accuracy\"?"},
      {"kind = \"optimum_at\"", "kind = \"argmax_in\"", "36:1: claim.kind: expected one of "},
      {"among = [2]", "", "35:1: claim.among: missing: optimum_at needs the x that may be the best"},
      {"among = [2]", "among = [2]\nfactr = 2", "38:1: claim.factr: unknown key"},
      {"among = [2]", "among = [2]\nlow = 2", "38:1: claim.low: "},
      {"among = [2]", "among = [2]\nfactor = 1.25\nours = \"the best by 5 times\"",
       "38:1: claim.factor: is 1.25, where a claim on relative_mse usually states 1.1, and the claim's words do not "
       "name it"},
      {"kind = \"optimum_at\"\namong = [2]", "kind = \"monotone\"", "35:1: claim.direction: missing: monotone needs"},
      {"kind = \"optimum_at\"\namong = [2]", "kind = \"slope\"\nlow = 2\nhigh = 1", "38:1: claim.high: must be"},
      {"kind = \"optimum_at\"\namong = [2]", "kind = \"band\"", "35:1: claim.low: missing: band needs low, high or"},
      {"kind = \"optimum_at\"\namong = [2]", "kind = \"less_than\"\nthan = { series = \"b\" }",
       "37:10: claim.than.series: there is no series \"b\""},
      {"kind = \"optimum_at\"\namong = [2]", "kind = \"steps_ratio\"\nvalue = 0\nlow = 2",
       "37:1: claim.value: 0 has no logarithm"},
      {"kind = \"optimum_at\"\namong = [2]", "kind = \"steps_ratio\"\nvalue = 0.1\nlow = 2",
       "36:1: claim.kind: compares steps, and the report's x is heads"},
      {"kind = \"optimum_at\"\namong = [2]", "kind = \"steps_ratio\"\nlow = 2",
       "35:1: claim.value: missing: steps_ratio"},
      {"among = [2]", "among = [2]\nreference = [\"ngram-tradeoff\", \"optimum\", \"N\"]",
       "38:1: claim.reference: the paper's tables have no number at ngram-tradeoff / optimum / N"},
      {"among = [2]", "among = [2]\nreference = [\"ngram-tradeoff\", \"optimum\", \"M\"]", ""},
      {"kind = \"optimum_at\"\namong = [2]",
       "kind = \"within_percent\"\nmetric = \"mse\"\nof = \"error_l2\"\npercent = 2\nat = 2\nours = \"near\"", ""},
      {"[report]", "[raport]", "31:2: raport: unknown key; did you mean report?"},
  };
  for (const Case& mistake : cases) {
    CAPTURE(mistake.line, mistake.instead);
    const std::vector<std::string> problems = problems_of(replaced(small_study(), mistake.line, mistake.instead));
    CAPTURE(problems);
    if (*mistake.problem == 0) {
      CHECK(problems.empty());
    } else {
      CHECK(std::any_of(problems.begin(), problems.end(),
                        [&](const std::string& line) { return line.rfind(mistake.problem, 0) == 0; }));
    }
  }
}

TEST_CASE("all problems show in one run, in the order of the file") {
  std::string text = replaced(small_study(), "token_dim = 2", "tokn_dim = 2");
  text = replaced(text, "steps     = 6", "steps     = 0");
  text = replaced(text, "causal    = true", "cuasal    = true");
  const std::vector<std::string> problems = problems_of(text);
  REQUIRE(problems.size() == 3);
  CHECK(problems[0] == "8:1: task.tokn_dim: unknown key; did you mean task.token_dim?");
  CHECK(problems[1] == "18:1: model.cuasal: unknown key; did you mean model.causal?");
  CHECK(problems[2] == "23:1: train.steps: 0 is out of range: expected in [1, 1000000000000]");
}

TEST_CASE("what is not TOML is named with its place") {
  CHECK(contains(only_problem("[study\nid = 1\n"), "1:7: malformed TOML: "));
  CHECK(contains(only_problem("[train]\nsteps = 1\nsteps = 2\n"), "3:9: malformed TOML: "));
  CHECK(contains(only_problem("a = 2020-01-01\n"), "1:5: dates and times have no place in a study"));
  CHECK(contains(only_problem("x = \"\xff\"\n"), "malformed TOML"));
  CHECK(problems_of("").size() >= 4);
}

TEST_CASE("files that cannot be read are named") {
  CHECK_THROWS_WITH(load_study("no/such.toml"), "no/such.toml: cannot read the study file: No such file or directory");
  CHECK_THROWS_WITH(load_study("/tmp"), "/tmp: is a folder, not a study file");
}

TEST_CASE("profiles replace keys, and every one is checked") {
  const std::string quick = small_study() + "[profile.quick]\ntrain.steps = 3\ntrain.optimizer.lr = 0.5\n";
  const StudyFile file(quick);
  CHECK(load_study(file.path()).trials[0].config.train.steps == 6);
  const Study study = load_study(file.path(), "quick");
  CHECK(study.trials[0].config.train.steps == 3);
  CHECK(study.trials[0].config.train.optimizer.beta2 == 0.99);  // a dotted key leaves its neighbours
  CHECK_THROWS_WITH(load_study(file.path(), "qiuck"),
                    file.path() + ": there is no profile 'qiuck'; it has paper, quick");
  CHECK(only_problem(small_study() + "[profile.quick]\ntrain.stesp = 3\n") ==
        "40:7: train.stesp: unknown key; did you mean train.steps?");
  // A table in braces replaces as a whole.
  const StudyFile braces(small_study() + "[profile.quick]\ntrain.optimizer = { kind = \"sgd\", lr = 1.0 }\n");
  CHECK(load_study(braces.path(), "quick").trials[0].config.train.optimizer.beta2 == 0.999);
}

TEST_CASE("settings come last, and name themselves in errors") {
  const StudyFile file(small_study());
  CHECK(load_study(file.path(), "paper", {"train.steps=9", "sweep.seed=[5]"}).trials[0].config.train.steps == 9);
  CHECK(load_study(file.path(), "paper", {"sweep.\"model.heads\"=[4]"}).trials[0].x == 4);
  CHECK(only_problem(small_study(), {"train.stesp=9"}) ==
        "--set train.stesp=9: train.stesp: unknown key; did you mean train.steps?");
  CHECK(load_study(file.path(), "paper", {"sweep.model.heads=[4]"}).trials[0].x == 4);
  // A swept key that is set has that one value.
  const Study pinned = load_study(file.path(), "paper", {"train.optimizer.lr=0.5", "model.heads=4"});
  CHECK(pinned.trials.size() == 2);
  CHECK(pinned.trials[0].label == "heads=4 lr=0.5 seed=1");
  CHECK(pinned.trials[0].config.train.optimizer.lr == 0.5);
  CHECK(pinned.trials[0].choice.at("train.optimizer.lr") == 0.5);
  CHECK(only_problem(small_study(), {"train.steps"}) == "--set train.steps: expected key=value");
  CHECK(contains(only_problem(small_study(), {"train.steps=oops ["}), "--set train.steps=oops [: malformed TOML"));
  CHECK(contains(only_problem(small_study(), {"train.steps=oops"}), "--set train.steps=oops: train.steps: "));
  // A word needs no quotes; what TOML reads is left as it is.
  const StudyFile small(small_study());
  const auto positions = [&](const std::string& setting) {
    return load_study(small.path(), "paper", {setting}).trials[0].config.model.positions;
  };
  CHECK(positions("model.positions=alibi") == models::Positions::alibi);
  CHECK(positions("model.positions = alibi ") == positions("model.positions=\"alibi\""));
  CHECK(load_study(small.path(), "paper", {"model.causal=true"}).trials[0].config.model.causal);
}

TEST_CASE("a series overrides keys, its own sweep and overlay") {
  const std::string text = small_study() +
                           "[[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\nmodel.width = 16\nsweep.seed = [7]\n"
                           "report.overlay = { points = [[1, 2.0], [2, 1.0]], label = \"bound\" }\n";
  const StudyFile file(replaced(text, "kind = \"optimum_at\"", "kind = \"optimum_at\"\nseries = \"b\""));
  const Study study = load_study(file.path());
  CHECK(study.series == std::vector<std::string>{"a", "b"});
  CHECK(study.trials.size() == 2 * 2 * 2 + 2 * 2);
  CHECK(study.trials.back().config.model.width == 16);
  CHECK(study.trials.back().seed == 7);
  REQUIRE(study.head.report.overlays.size() == 1);
  CHECK(study.head.report.overlays[0].series == "b");
  CHECK(study.head.report.overlays[0].points[1] == std::pair(2.0, 1.0));
  CHECK(contains(only_problem(text), "claim.series: missing: the study has several series (a, b)"));
  CHECK(contains(only_problem(small_study() + "[[series]]\nmodel.width = 8\n"), "series.name: missing"));
  CHECK(contains(problems_of(small_study() + "[[series]]\nname = \"a\"\nreport.x = { key = \"seed\" }\n").at(0),
                 "series.report.x: a series overrides only report.overlay"));
}

TEST_CASE("heads come equal or in groups") {
  const StudyFile file(replaced(small_study(), "head_dim  = \"width / heads\"", "qk_dim    = 3\nv_dim     = 5"));
  const models::HeadGroup group = load_study(file.path()).trials[0].config.model.groups.at(0);
  CHECK(group == models::HeadGroup{.heads = 1, .qk_dim = 3, .v_dim = 5, .kv_heads = 0});
  CHECK(contains(problems_of(small_study(), {"model.groups=[{heads=1,qk_dim=2,v_dim=2}]"}).at(0),
                 "16:1: model.head_dim: exists only without model.groups"));
}

TEST_CASE("keys of a model that a study need not give leave its trials' ids as they are") {
  const auto first = [](const std::string& text) {
    const StudyFile file(text);
    return load_study(file.path()).trials[0].config;
  };
  const TrialConfig plain = first(small_study());
  for (const char* key : {"q_bias", "qk_norm", "readout_bias", "rope_dim", "alibi_slopes", "\"layer\""})
    CHECK_FALSE(contains(plain.model_record, key));
  const TrialConfig given =
      first(replaced(small_study(), "ffn_width = 0", "ffn_width = 0\nq_bias = false\nqk_norm = true"));
  CHECK_FALSE(models::attention_biases(given.model).q);
  CHECK(models::attention_biases(given.model).k);
  CHECK(given.model.qk_norm);
  for (const char* key : {"\"q_bias\":false", "\"qk_norm\":true"}) CHECK(contains(given.model_record, key));
}

TEST_CASE("RoPE may turn a part of each head, and heads may share ALiBi's slopes") {
  const StudyFile file(
      replaced(small_study(), "\"sinusoidal\"", "\"rope_alibi\"\nrope_dim = \"head_dim / 2\"\nalibi_slopes = 3"));
  const std::vector<PlannedTrial> trials = load_study(file.path()).trials;
  CHECK(trials.front().config.model.groups.at(0).rope_frequencies == std::vector<double>{1, 0.01, 0, 0});
  CHECK(trials.back().config.model.groups.at(0).rope_frequencies == std::vector<double>{1, 0});
  CHECK(trials.back().config.model.alibi_slopes == 3);
}

TEST_CASE("layers of unequal shape are a list of tables") {
  std::string text = small_study();
  for (const auto& [old, with] : std::vector<std::pair<std::string, std::string>>{
           {"layers    = 1\n",
            "layer = [{ groups = [{ heads = 2, qk_dim = 3, v_dim = 4 }], ffn_width = 5 },\n"
            "  { groups = [{ heads = 1, qk_dim = 2, v_dim = 2 }] }]\n"},
           {"head_dim  = \"width / heads\"\n", ""},
           {"heads     = 1\n", ""},
           {"ffn_width = 0\n", ""},
           {"\"model.heads\"        = [1, 2]", "\"model.width\" = [8, 16]"},
           {"key = \"model.heads\"", "key = \"model.width\""},
           {"among = [2]", "among = [8]"}})
    text = replaced(text, old, with);
  CHECK(problems_of(text).empty());
  const StudyFile file(text);
  const models::TransformerConfig model = load_study(file.path()).trials[0].config.model;
  CHECK(model.layers == 2);
  REQUIRE(model.unequal_layers.size() == 2);
  CHECK(model.unequal_layers[0] == models::LayerConfig{.groups = {{2, 3, 4}}, .ffn_width = 5});
  CHECK(model.unequal_layers[1] == models::LayerConfig{.groups = {{1, 2, 2}}});
  CHECK(contains(problems_of(replaced(text, "positions =", "heads = 2\npositions =")).at(0),
                 "model.heads: exists only without model.groups and model.layer"));
  CHECK(contains(problems_of(replaced(text, "heads = 1, qk_dim = 2", "heads = 0, qk_dim = 2")).at(0), "heads"));
}

TEST_CASE("schedules: a warm-up beside another kind is a factor of its own") {
  const auto schedule_of = [](const std::string& setting) {
    const StudyFile file(small_study());
    return load_study(file.path(), "paper", {"train.steps=100", "train.schedule=" + setting})
        .trials[0]
        .config.train.schedule;
  };
  const auto cosine = schedule_of("{ kind = \"cosine\", warmup = \"steps / 20\" }");
  REQUIRE(cosine.size() == 2);
  CHECK(cosine[0].kind == "warmup");
  CHECK(cosine[0].warmup == 5);
  CHECK(cosine[1].start == 5);
  CHECK(cosine[1].steps == 95);
  CHECK(schedule_of("[{ kind = \"warmup\", warmup = 3 }, { kind = \"step\", steps = 10 }]").size() == 2);
  CHECK(contains(only_problem(small_study(), {"train.schedule={kind=\"step\"}"}),
                 "train.schedule.steps: expected the steps between drops"));
  CHECK(contains(only_problem(small_study(), {"train.schedule={kind=\"cosine\", warmup=7}"}),
                 "train.schedule.warmup: 7 is out of range"));
}

TEST_CASE("what a profile changes is told from the trials themselves") {
  const std::string text = small_study() +
                           "[profile.quick]\ntask.length = 4\nmodel.layers = 2\ntrain.steps = 3\n"
                           "train.eval_every = 1\nsweep.\"model.heads\" = [1, 2, 4]\nsweep.seed = [7]\n";
  const StudyFile file(text);
  CHECK(load_study(file.path()).changes.empty());
  CHECK(load_study(file.path(), "quick").changes == std::vector<std::string>{"model.heads 1, 2, 4 (1, 2)",
                                                                             "model.layers 2 (1)", "task.length 4 (6)",
                                                                             "train.steps 3 (6)"});
}

TEST_CASE("an effect that is not the usual one has a reason, or stands in the claim's words") {
  const auto loads = [](const std::string& keys) {
    const StudyFile file(replaced(small_study(), "among = [2]", "among = [2]\n" + keys));
    return load_study(file.path()).head.claims.at(0);
  };
  CHECK(loads("factor = 1.25\nours = \"best by 25 %\"").because.empty());
  CHECK(loads("factor = 3\npaper = \"by at least 3 times\"").because.empty());
  CHECK(loads("factor = 1.1\npaper = \"clearly the best\"").because.empty());
  CHECK(loads("factor = 7").because.empty());  // no words: nothing is claimed of it
  CHECK(loads("factor = 2\npaper = \"best\"\nbecause = \"as in Table 3\"").because == "as in Table 3");
  CHECK_FALSE(names_effect("13 times or 3.5 times", 3));
  CHECK_FALSE(names_effect("10.5 times", 10));
  CHECK_FALSE(names_effect("the theory's D/d = 8 heads are best", 8));
  CHECK_FALSE(names_effect("125 % more", 1.25));
  CHECK(names_effect("by a factor of 10. That is all", 10));
  CHECK(names_effect("at most 1/2 of the steps", 2));
  for (const char* text : {"twice the error", "at most half of it", "2x", "a factor of two", "two times", "double"})
    CHECK(names_effect(text, 2));
  CHECK(names_effect("ten times worse", 10));
  CHECK(names_effect("5% more", 1.05));
  CHECK_FALSE(names_effect("on behalf of 12x", 2));
  CHECK(standard_effect("stage1_loss") == 1.01);
}

TEST_CASE("a claim may speak of what another profile measures, and of nothing that none does") {
  const std::string text = small_study() + "[profile.quick]\nsweep.\"model.heads\" = [1, 4]\n";
  CHECK(problems_of(text).empty());
  CHECK(problems_of(replaced(text, "among = [2]", "among = [4]")).empty());
  CHECK(problems_of(text, {"sweep.\"model.heads\"=[1]"}).empty());  // what a setting takes away is in the file
  for (const std::string& problem : problems_of(replaced(text, "among = [2]", "among = [2, 8]")))
    CHECK(contains(problem, "claim.among: heads = 8 is no point of the sweep, which has 1, 2, 4"));
  CHECK_FALSE(problems_of(replaced(text, "among = [2]", "among = [2, 8]")).empty());
}

TEST_CASE("arithmetic") {
  const auto lookup = [](const std::string& name) -> double {
    if (name == "width") return 256;
    fail("no {}", name);
  };
  CHECK(evaluate("width / 2 + 1", lookup) == 129);
  CHECK(evaluate("2^3", lookup) == 8);
  CHECK(contains(error_of([&] { evaluate("width /", lookup); }), "cannot evaluate \"width /\""));
  CHECK(contains(error_of([&] { evaluate("", lookup); }), "cannot evaluate"));
  CHECK_THROWS_WITH(evaluate("width / 0", lookup), "\"width / 0\" is not finite");
  CHECK_THROWS_WITH(evaluate("depth", lookup), "no depth");
}

TEST_CASE("a resolved config reads back to the same trials") {
  const StudyFile file(small_study() + "[profile.quick]\ntrain.steps = 3\n");
  const Study study = load_study(file.path(), "quick");
  const StudyFile resolved(study.resolved);
  const Study again = load_study(resolved.path());
  REQUIRE(again.trials.size() == study.trials.size());
  for (size_t i = 0; i < study.trials.size(); ++i) CHECK(again.trials[i].id == study.trials[i].id);
}

TEST_CASE("a sweep gives every combination once, seeds innermost") {
  const StudyFile file(small_study());
  const Study study = load_study(file.path());
  REQUIRE(study.trials.size() == 8);
  CHECK(study.trials[0].label == "heads=1 lr=0.001 seed=1");
  CHECK(study.trials[1].label == "heads=1 lr=0.001 seed=2");
  CHECK(study.trials[7].label == "heads=2 lr=0.01 seed=2");
  CHECK(study.trials[7].x == 2);
  CHECK(study.trials[7].choice.at("train.optimizer.lr") == 0.01);
  CHECK(study.trials[7].config.model.groups.at(0).heads == 2);
  CHECK(study.trials[7].config.model.groups.at(0).qk_dim == 4);
  CHECK(study.trials[7].config.train.optimizer.lr == 0.01);
  std::set<std::string> ids;
  for (const PlannedTrial& trial : study.trials) ids.insert(trial.id);
  CHECK(ids.size() == 8);
}

TEST_CASE("ids depend on what decides the numbers, on nothing else, and never change by themselves") {
  const StudyFile file(small_study()), renamed(replaced(small_study(), "title = \"Small\"", "title = \"Other\""));
  const Study study = load_study(file.path());
  CHECK(load_study(renamed.path()).trials[0].id == study.trials[0].id);
  CHECK(load_study(file.path(), "paper", {"train.clip=2"}).trials[0].id != study.trials[0].id);
  CHECK(load_study(file.path(), "paper", {"task.input=\"unit\""}).trials[0].id != study.trials[0].id);
  // A changed value here means that stores in use would be trained again: raise the code version only for that.
  TrialConfig config;
  config.model_record = R"({"width":8})";
  CHECK(canonical_json(config) == R"({"model":{"width":8},"seed":0,"task":{},"train":{}})");
  CHECK(trial_id(config) == "2d0795c85f1725d5a39a61ceb6cdce9d");
}

TEST_CASE("a trial's record holds every key that was read, defaults included") {
  const StudyFile file(small_study());
  const std::string json = canonical_json(load_study(file.path()).trials[0].config);
  CAPTURE(json);
  CHECK(contains(json, R"("seed":1)"));
  CHECK(contains(json, R"("kernel":{"kind":"n-gram","n":2})"));
  CHECK(contains(json, R"("qk_dim":8)"));                    // from head_dim, an expression
  CHECK(contains(json, R"("init":{"embedding_std":0.02)"));  // a table that the file does not have
  CHECK(contains(json, R"("logit_scale":null)"));            // what has no default
  CHECK(contains(json, R"("schedule":[])"));
  CHECK(!contains(json, "checkpoint_blocks"));  // changes no number
  CHECK(load_study(file.path(), "paper", {"model.checkpoint_blocks=true"}).trials[0].id ==
        load_study(file.path()).trials[0].id);
}
