// Choosing an answer by its log-likelihood: against the plain formula, and how items are read.
#include <cmath>
#include <numeric>

#include "engine/context.h"
#include "models/positions.h"
#include "tasks/measure/choice_scores.h"
#include "tasks/measure/language_model.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"
#include "tests/support/letters.h"

namespace headroom::tasks {
namespace {

using namespace testing;

/// Σ log p of ids[first …] after those before them.
double log_p(const models::Transformer& model, const std::vector<int64_t>& ids, size_t first) {
  const std::vector<double> all = losses(model, ids);
  return -std::accumulate(all.begin() + static_cast<std::ptrdiff_t>(first) - 1, all.end(), 0.0);
}

double loss_of(const std::vector<double>& log_ps, size_t answer) {
  double sum = 0;
  for (const double x : log_ps) sum += std::exp(x - log_ps[answer]);
  return std::log(sum);
}

}  // namespace

TEST_CASE("choices are scored after their prompt, whatever the tokens' borders", "[choices]") {
  const auto model = checkpoint("smollm2");
  const Letters letters(true);
  const std::vector<ChoiceItem> items{{"xyz", {" b", "c", "abc"}, 1, "one"},
                                      {"xa ", {"b", "c"}, 0, "two"},     // the space is the choice's
                                      {"xa", {"b", "cc"}, 1, "three"}};  // "ab" is one token
  const ChoiceScores scores = measure_choices(*model, letters, items, {.context = 16, .items_at_once = 2});
  const std::vector<std::vector<double>> wanted{
      {log_p(*model, {24, 25, 26, 29}, 3), log_p(*model, {24, 25, 26, 3}, 3), log_p(*model, {24, 25, 26, 28, 3}, 3)},
      {log_p(*model, {24, 1, 29}, 2), log_p(*model, {24, 1, 27, 3}, 2)},
      {log_p(*model, {24, 28}, 1), log_p(*model, {24, 1, 3, 3}, 2)}};
  double loss = 0, right = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto best = std::max_element(wanted[i].begin(), wanted[i].end()) - wanted[i].begin();
    CHECK(scores.picked[i] == best);
    right += best == items[i].answer ? 1 : 0;
    loss += loss_of(wanted[i], static_cast<size_t>(items[i].answer)) / 3;
  }
  CHECK(scores.items == 3);
  CHECK(scores.accuracy == right / 3);
  CHECK(scores.log_loss == Approx(loss).epsilon(1e-5));
  CHECK(scores.chance == Approx((1. / 3 + 1. / 2 + 1. / 2) / 3));
  CHECK(scores.commonest == Approx(2. / 3));
  CHECK(scores.stderr_accuracy == Approx(std::sqrt(right / 3 * (1 - right / 3) / 2)));
}

TEST_CASE("texts that share their beginning have the hidden states of each alone", "[choices]") {
  const engine::ProductPathScope own(engine::ProductPath::own);  // adds in the same order whatever the number of rows
  const auto text = [](int64_t shared, int64_t more, int64_t step) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < shared; ++i) ids.push_back(i * 7 % 30);
    for (int64_t i = 0; i < more; ++i) ids.push_back((shared * 7 + (i + 1) * step) % 30);
    return ids;
  };
  const std::vector<TokenBatch> groups{{text(70, 5, 1), text(70, 0, 1), text(70, 20, 3)},
                                       {text(1, 2, 1), text(1, 3, 2)},   // fewer than are asked again
                                       {text(0, 2, 5), text(0, 4, 11)},  // nothing is shared
                                       {text(40, 0, 1)}};
  for (const models::PositionScheme& scheme : models::position_schemes())
    for (const int64_t window : {0, 12}) {
      models::TransformerConfig config;
      config.layers = 2, config.width = 32, config.ffn_width = 40, config.vocab = 30, config.max_length = 100;
      config.groups = {{.heads = 2, .qk_dim = 32, .v_dim = 8, .kv_heads = 1}};
      config.tied = config.causal = true;
      config.positions = scheme.positions, config.window = window;
      engine::Rng rng(3);
      const models::Transformer model(config, rng);
      for (const bool rounds : {false, true}) {
        INFO(scheme.name << ", window " << window << (rounds ? ", rounded" : ""));
        models::ForwardContext context;
        if (rounds) context.rounded_cache = engine::BlockFormat::f16;
        const std::vector<std::vector<Tensor>> together = hidden_states_of_groups(model, groups, context);
        for (size_t i = 0; i < groups.size(); ++i) {
          const std::vector<Tensor> alone = hidden_states(model, groups[i], context);
          REQUIRE(together[i].size() == alone.size());
          for (size_t t = 0; t < alone.size(); ++t) {
            CHECK(together[i][t].shape() == alone[t].shape());
            CHECK(together[i][t].to_vector<float>() == alone[t].to_vector<float>());
          }
        }
      }
    }
}

TEST_CASE("choices are scored with keys and values as a cache rounds them", "[choices]") {
  const auto model = checkpoint("smollm2");
  const Letters letters(true);
  const std::vector<ChoiceItem> items{{"xyz", {"abc", "cca"}, 1, "one"}};
  const double exact = measure_choices(*model, letters, items, {.context = 16}).log_loss;
  const double rounded =
      measure_choices(*model, letters, items, {.context = 16, .cache = engine::BlockFormat::bf16}).log_loss;
  CHECK(rounded != exact);
  CHECK(rounded == Approx(exact).epsilon(0.02));
}

TEST_CASE("items that cannot be scored are named", "[choices]") {
  const auto model = checkpoint("smollm2");
  const Letters letters(true);
  const auto refusal = [&](const ChoiceItem& item) {
    return error_of([&] { measure_choices(*model, letters, {item}, {.context = 4}); });
  };
  CHECK_THAT(refusal({"abcdef", {"x", "y"}, 0, "line 7"}), contains("line 7: takes 6 tokens, the context is 4"));
  CHECK_THAT(refusal({"", {"x", "y"}, 0, "line 8"}), contains("line 8: there is nothing before the choice 'x'"));
  CHECK_NOTHROW(measure_choices(*model, letters, {{"", {"x", "y"}, 0, ""}}, {.context = 4, .bos = 1}));
}

TEST_CASE("items are read from lines of JSON and from tables", "[choices]") {
  const TemporaryFolder folder;
  write_bytes(folder / "a.jsonl", "{\"prompt\": \"2 + 2 =\", \"choices\": [\" 4\", \" 5\"], \"answer\": 0}\n\n");
  const std::vector<ChoiceItem> items = read_choice_lines(folder / "a.jsonl");
  REQUIRE(items.size() == 1);
  CHECK(items[0].prompt == "2 + 2 =");
  CHECK(items[0].choices == std::vector<std::string>{" 4", " 5"});
  write_bytes(folder / "b.tsv", "label\tcontent\r\n1\tgood film\r\n0\tbad film\r\n");
  const ChoiceTable table{"Review: {content}\nIt is", {" bad", " good"}};
  const std::vector<ChoiceItem> rows = read_choice_table(folder / "b.tsv", table);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].prompt == "Review: good film\nIt is");
  CHECK(rows[0].answer == 1);
  CHECK_THAT(rows[1].place, contains("b.tsv, line 3"));

  const auto line = [&](const std::string& text) {
    write_bytes(folder / "c.jsonl", text);
    return error_of([&] { read_choice_lines(folder / "c.jsonl"); });
  };
  CHECK_THAT(line(""), contains("c.jsonl: holds no item"));
  CHECK_THAT(line("{"), contains("c.jsonl, line 1: "));
  CHECK_THAT(line("\n[]"), contains("line 2: expected an object with prompt, choices and answer, got array"));
  CHECK_THAT(line(R"({"prompt": "a", "choices": ["x"], "answer": 0})"), contains("choices\" of two or more"));
  CHECK_THAT(line(R"({"prompt": "a", "choices": ["x", ""], "answer": 0})"), contains("choices: "));
  CHECK_THAT(line(R"({"prompt": "a", "choices": ["x", "y"], "answer": 2})"),
             contains("answer: 2 is none of 2 choices"));
  CHECK_THAT(line("\xff"), contains("is not UTF-8 from byte 0 on"));
  const auto row = [&](const std::string& text, const ChoiceTable& own) {
    write_bytes(folder / "d.tsv", text);
    return error_of([&] { read_choice_table(folder / "d.tsv", own); });
  };
  CHECK_THAT(row("label\tcontent\n", table), contains("d.tsv: holds no item"));
  CHECK_THAT(row("label\ttext\n1\ta\n", table),
             contains("line 1: there is no column 'content'; there are label, text"));
  CHECK_THAT(row("label\tcontent\n2\ta\n", table), contains("line 2: label '2' is none of 0 to 1"));
  CHECK_THAT(row("label\tcontent\n1\ta\tb\n", table), contains("line 2: 3 columns, the first line names 2"));
  CHECK_THAT(row("label\tcontent\n", {"Review:", {"a", "b"}}), contains("the template names no column"));
  CHECK_THAT(row("label\tcontent\n", {"{content", {"a", "b"}}), contains("without its }"));
  CHECK_THAT(row("label\tcontent\n", {"{content}", {"a"}}), contains("1 answers to choose from"));
}

TEST_CASE("a BIG-bench task is worded as BIG-bench words it", "[choices]") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    write_bytes(folder / "task.json", text);
    return read_choices(folder / "task.json");
  };
  // The prompts are what its format function gives with NumPy's permutation.
  const std::string red =
      R"({"input": "Which is red?", "target_scores": {"sky": 0, "blood": 1, "grass": 0, "snow": 0, "coal": 0}})";
  ChoiceFile file = read(R"({"examples": [)" + red + R"(, {"input": "2?", "target_scores": {"b": 1, "a": 0}}, )" + red +
                         R"(, {"input": "both", "target_scores": {"a": 1, "b": 1}}]})");
  REQUIRE(file.items.size() == 2);
  CHECK(file.left_out == 2);
  CHECK(file.items[0].prompt ==
        "\nQ: Which is red?\n  choice: coal\n  choice: snow\n  choice: grass\n  choice: blood\n  choice: sky\nA: ");
  CHECK(file.items[0].choices == std::vector<std::string>{"blood", "coal", "grass", "sky", "snow"});
  CHECK(file.items[0].answer == 0);
  CHECK(file.items[1].prompt == "\nQ: 2?\n  choice: b\n  choice: a\nA: ");
  CHECK(file.items[1].answer == 1);
  const auto framed = [&](const std::string& listed) {
    return read(R"({"task_prefix": "T", "example_input_prefix": "<", "example_output_prefix": ">", "choice_prefix": "|",
                    "append_choices_to_input": )" +
                listed + R"(, "examples": [{"input": "x", "target_scores": {"b": 0.5, "a": 0.25}}]})")
        .items[0]
        .prompt;
  };
  CHECK(framed("false") == "T<x>");
  CHECK(framed("\"false\"") == "T<x|b|a>");  // a text that is not empty is true in Python
  CHECK_THAT(error_of([&] { read(R"({"examples": [{"input": "x", "target": "y"}]})"); }),
             contains("expected \"target_scores\" of two or more choices") && contains("task.json, example 1"));
  CHECK_THAT(error_of([&] { read(R"({"name": "x"})"); }), contains("task.json: holds no \"examples\""));
  CHECK_THAT(error_of([&] { read(R"({"examples": [{"input": "x", "target_scores": {"a": 1, "b": "1"}}]})"); }),
             contains("is no number"));
}

}  // namespace headroom::tasks
