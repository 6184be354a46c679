#include <cmath>
#include <fstream>
#include <set>

#include "tasks/language/corpus_tasks.h"
#include "tasks/language/instructions.h"
#include "tasks/language/token_meter.h"
#include "tasks/language/windows.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::tasks;
using headroom::engine::Rng;
using headroom::testing::contains;
using headroom::testing::error_of;
using headroom::testing::TemporaryFolder;

namespace {

using Ids = std::vector<int64_t>;

CorpusConfig markov(int64_t order = 1, int64_t tokens = 2000) {
  CorpusConfig config;
  config.markov = {.symbols = 5, .order = order, .tokens = tokens};
  return config;
}

Ids ids(const Tensor& tensor) { return tensor.to_vector<int64_t>(); }

}  // namespace

TEST_CASE("evaluation windows do not overlap and are spread evenly") {
  CHECK(even_windows(100, 11, 10, 4) == Ids{0, 20, 40, 60});
  CHECK(even_windows(101, 11, 10, 99) == Ids{0, 10, 20, 30, 40, 50, 60, 70, 80, 90});
  CHECK(even_windows(11, 11, 10, 5) == Ids{0});
  CHECK(even_windows(100, 11, 10, 0).empty());
  CHECK(contains(error_of([] { even_windows(10, 11, 10, 5); }), "windows of 11 tokens: the text has 10"));
}

TEST_CASE("training windows reach both ends of the text") {
  Rng rng(1);
  std::set<int64_t> starts;
  for (int i = 0; i < 50; ++i)
    for (const int64_t start : random_windows(20, 11, 8, rng)) starts.insert(start);
  CHECK(*starts.begin() == 0);
  CHECK(*starts.rbegin() == 9);
  CHECK(starts.size() == 10);
}

TEST_CASE("next token: targets are the inputs one later, within the split") {
  const NextToken task({markov(), 12}, {});
  CHECK(task.model_interface().vocab == 5);
  Rng rng(3), same(3);
  const Batch batch = task.train_batch(0, 4, rng);
  CHECK(batch.input.shape() == headroom::engine::Shape{4, 12});
  const Ids input = ids(batch.input), target = ids(batch.target);
  for (size_t i = 0; i + 1 < input.size(); ++i)
    if (i % 12 != 11) CHECK(input[i + 1] == target[i]);
  CHECK(ids(task.train_batch(7, 4, same).input) == input);  // the streams' offsets decide
  CHECK(ids(task.train_batch(7, 4, same).input) != input);
  const Batch all = task.evaluation(Split::validation, 1000);
  CHECK(all.input.dim(0) == 16);  // (200 − 13) / 12 + 1
  const TokenSpan validation = task.corpus().validation();
  CHECK(ids(all.input) == Ids(validation.begin(), validation.begin() + 16 * 12));
  CHECK(ids(task.evaluation(Split::test, 1000).input) == ids(all.input));
}

TEST_CASE("positions that do not see the whole context of a Markov source are not scored") {
  const NextToken task({markov(3), 6}, {});
  Rng rng(3);
  const Ids target = ids(task.train_batch(0, 2, rng).target);
  for (size_t i = 0; i < target.size(); ++i) CHECK((target[i] == ignore_index) == (i % 6 < 2));
  CHECK(error_of([] { NextToken({markov(3), 2}, {}); }) == "length: expected at least markov.order = 3, got 2");
}

TEST_CASE("the meter of a source's own probabilities has no excess, and one that knows nothing has ln V") {
  const NextToken task({markov(1, 200'000), 32}, {});
  const MarkovSource source(markov(1, 200'000).markov);
  const Batch batch = task.evaluation(Split::validation, 400);
  const Ids input = ids(batch.input);
  std::vector<float> logits;
  for (const int64_t context : input)
    for (size_t v = 0; v < 5; ++v)
      logits.push_back(static_cast<float>(std::log(source.transitions()[static_cast<size_t>(context) * 5 + v])));
  const auto truth = task.meter(), nothing = task.meter();
  truth->add(Tensor::from({400, 32, 5}, logits), batch);
  nothing->add(Tensor::zeros({400, 32, 5}), batch);
  CHECK(std::abs(truth->result().at("excess")) < 0.03);
  CHECK(nothing->result().at("cross_entropy") == Approx(std::log(5.0)).epsilon(1e-12));
  CHECK(nothing->result().at("perplexity") == Approx(5.0).epsilon(1e-12));
  CHECK(nothing->result().at("bits_per_char") == Approx(std::log2(5.0)).epsilon(1e-12));
  CHECK(truth->result().at("accuracy") > nothing->result().at("accuracy"));
}

TEST_CASE("a meter skips what is ignored and does not depend on how the set is cut") {
  const Tensor logits = headroom::engine::random_normal({2, 3, 4}, 0, 2, Rng(1).take("logits", 24));
  const Batch batch{{}, Tensor::from<int64_t>({2, 3}, {0, ignore_index, 3, 1, 2, ignore_index})};
  TokenMeter whole{{}}, halves{{}};
  whole.add(logits, batch);
  halves.add(logits.slice(0, 0, 1), batch.slice(0, 1));
  halves.add(logits.slice(0, 1, 2), batch.slice(1, 2));
  CHECK(whole.result() == halves.result());
  const std::vector<float> x = logits.to_vector<float>();
  double nats = 0;
  for (const size_t row : {0, 2, 3, 4}) {
    double sum = 0;
    for (size_t v = 0; v < 4; ++v) sum += std::exp(double{x[row * 4 + v]});
    nats += std::log(sum) - x[row * 4 + static_cast<size_t>(ids(batch.target)[row])];
  }
  CHECK(whole.result().at("cross_entropy") == Approx(nats / 4).epsilon(1e-12));
  CHECK_THROWS_WITH(whole.add(logits, {{}, Tensor::from<int64_t>({2, 3}, {0, 0, 4, 0, 0, 0})}),
                    contains("target 4 is outside the 4 classes"));
}

TEST_CASE("masks: 15 % of the tokens, of those 80 / 10 / 10, and every target is the token that was there") {
  const Masked task({markov(1, 200'000), 50}, {});
  CHECK(task.model_interface().vocab == 6);
  CHECK(task.mask_id() == 5);
  Rng rng(1), same(1);
  const Batch batch = task.train_batch(0, 400, rng);
  const Ids input = ids(batch.input), target = ids(batch.target);
  CHECK(ids(task.train_batch(0, 400, same).target) == target);
  CHECK(ids(task.train_batch(0, 400, same).target) != target);
  double chosen = 0, hidden = 0, kept = 0;
  for (size_t i = 0; i < input.size(); ++i) {
    if (target[i] == ignore_index) {
      CHECK(input[i] < 5);
      continue;
    }
    chosen += 1;
    hidden += input[i] == task.mask_id() ? 1 : 0;
    kept += input[i] == target[i] ? 1 : 0;
  }
  const auto n = static_cast<double>(input.size());  // 20,000: a standard error of 0.25 % of them
  CHECK(std::abs(chosen / n - 0.15) < 0.0125);
  CHECK(std::abs(hidden / chosen - 0.8) < 0.04);
  CHECK(std::abs(kept / chosen - (0.1 + 0.1 / 5)) < 0.03);
}

TEST_CASE("masks of evaluation are fixed, and differ between the splits") {
  MaskedConfig config{markov(1, 5000), 20};
  config.corpus.test = 0.1;
  const Masked task(config, {});
  CHECK(ids(task.evaluation(Split::validation, 8).target) == ids(task.evaluation(Split::validation, 8).target));
  CHECK(ids(task.evaluation(Split::validation, 8).target) != ids(task.evaluation(Split::test, 8).target));
  CHECK(task.meter()->result().count("masked_accuracy") == 1);
  CHECK(error_of([&] { Masked({markov(), 20, 0.0}, {}); }) == "masked: expected 0 < share <= 1, got 0");
  CHECK(contains(error_of([&] { Masked({markov(), 20, 0.15, 0.8, 0.3}, {}); }), "at most 1 together"));
}

namespace {

/// Instructions from a file; tokens are bytes, the end of text is 256.
struct Items {
  TemporaryFolder folder;
  std::string path = (folder.path() / "items.json").string();
  explicit Items(const std::string& json) { std::ofstream(path) << json; }

  InstructionsConfig config(int64_t length = 40) const {
    InstructionsConfig config;
    config.source = path;
    config.prompt = PromptTemplate::brief;
    config.validation = 0.25;
    config.length = length;
    return config;
  }
};

const char* const four = R"([{"instruction": "add", "input": "1 2", "output": "3"},
  {"instruction": "say", "output": "hi"}, {"instruction": "no", "input": "", "output": "yes"},
  {"instruction": "long", "input": "", "output": "0123456789012345678901234567890123456789"}])";

/// The text of a row's inputs or targets that are bytes.
std::string text_of(const Tensor& row) {
  std::string text;
  for (const int64_t id : ids(row)) text += id >= 0 && id < 256 ? static_cast<char>(id) : id == 256 ? '$' : '.';
  return text;
}

}  // namespace

TEST_CASE("an instruction becomes prompt, response, end and padding; only the response is in the loss") {
  const Items items(four);
  const Instructions task(items.config(16), {});
  Rng rng(5);
  const Batch batch = task.train_batch(0, 3, rng);
  std::set<std::string> targets;
  for (int64_t b = 0; b < 3; ++b) {
    const std::string target = text_of(batch.target.slice(0, b, b + 1));
    targets.insert(target);
    const std::vector<uint8_t> response = batch.response.slice(0, b, b + 1).to_vector<uint8_t>();
    const size_t answer = target.find("A: ") + 3;
    for (size_t t = 0; t < 16; ++t) CHECK((response[t] == 1) == (t >= answer && target[t] != '.'));
  }
  const Batch held_out = task.evaluation(Split::validation, 9);
  CHECK(held_out.input.dim(0) == 1);
  targets.insert(text_of(held_out.target));
  CHECK(targets ==
        std::set<std::string>{": add\n1 2\nA: 3$.", ": say\nA: hi$....", ": no\nA: yes$....", "ong\nA: 012345678"});
}

TEST_CASE("a prompt that is too long loses its start, so that some response is left") {
  const Items items(R"([{"instruction": "0123456789abcdefghij", "output": "uvwxyz"},
                        {"instruction": "0123456789abcdefghij", "output": "uvwxyz"}])");
  InstructionsConfig config = items.config(12);
  config.validation = 0.5;
  const Instructions task(config, {});
  const Batch batch = task.evaluation(Split::validation, 1);
  CHECK(text_of(batch.input) == "ij\nA: uvwxyz");
  CHECK(text_of(batch.target) == "j\nA: uvwxyz$");
}

TEST_CASE("the loss is that of responses or of all tokens, and both are metrics") {
  const Items items(four);
  InstructionsConfig config = items.config(20);
  const Instructions responses(config, {});
  config.loss = InstructionLoss::all;
  const Instructions all(config, {});
  Rng rng(2);
  const Batch batch = all.train_batch(0, 3, rng);
  const Tensor logits = headroom::engine::random_normal({3, 20, 257}, 0, 1, rng.take("logits", 3 * 20 * 258));
  const auto measure = [&](const Task& task) {
    const auto meter = task.meter();
    meter->add(logits, batch);
    return meter->result();
  };
  const Metrics of_responses = measure(responses), of_all = measure(all);
  CHECK(of_all.at("cross_entropy") == of_all.at("cross_entropy_all"));
  CHECK(of_responses.at("cross_entropy") == of_responses.at("cross_entropy_response"));
  CHECK(of_all.at("cross_entropy_response") == of_responses.at("cross_entropy_response"));
  CHECK(of_all.at("cross_entropy_all") != of_all.at("cross_entropy_response"));
  const headroom::autograd::Var output(logits);
  CHECK(all.loss(output, batch).value().item() == Approx(of_all.at("cross_entropy_all")).epsilon(1e-5));
  CHECK(responses.loss(output, batch).value().item() == Approx(of_all.at("cross_entropy_response")).epsilon(1e-5));
}

TEST_CASE("every epoch visits every item once, in an order that the seed and the epoch decide") {
  InstructionsConfig config;
  config.markov.tokens = 2000;
  config.prompt = PromptTemplate::brief;
  const Instructions task(config, {});
  const auto count = static_cast<int64_t>(task.train_items().size());
  const auto epoch = [&](uint64_t seed, int64_t number) {
    Rng rng(seed);
    std::vector<std::string> rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back(text_of(task.train_batch(number * count + i, 1, rng).input));
    return rows;
  };
  const auto first = epoch(1, 0), second = epoch(1, 1), other = epoch(2, 0);
  CHECK(first == epoch(1, 0));
  CHECK(first != second);
  CHECK(first != other);
  CHECK(std::multiset<std::string>(first.begin(), first.end()) ==
        std::multiset<std::string>(second.begin(), second.end()));
  Rng rng(1);
  const Batch across = task.train_batch(0, count + 1, rng);  // a batch over the end of an epoch
  CHECK(text_of(across.input.slice(0, count, count + 1)) == second[0]);
}

TEST_CASE("instruction splits are disjoint and follow the split seed only") {
  InstructionsConfig config;
  config.markov.tokens = 4000;
  config.test = 0.1;
  const Instructions task(config, {}), same(config, {});
  std::multiset<int64_t> seen(task.train_items().begin(), task.train_items().end());
  seen.insert(task.validation_items().begin(), task.validation_items().end());
  seen.insert(task.test_items().begin(), task.test_items().end());
  CHECK(std::set<int64_t>(seen.begin(), seen.end()).size() == seen.size());
  CHECK(*seen.begin() == 0);
  CHECK(*seen.rbegin() == static_cast<int64_t>(seen.size()) - 1);
  CHECK(task.validation_items() == same.validation_items());
  config.split_seed = 1;
  CHECK(task.validation_items() != Instructions(config, {}).validation_items());
}

TEST_CASE("instruction files that are wrong name the file, the item and the field") {
  const auto message = [](const std::string& json) {
    const Items items(json);
    return error_of([&] { Instructions(items.config(), {}); });
  };
  CHECK(contains(message("[{"), "items.json: is no JSON"));
  CHECK(contains(message("{}"), "items.json: expected a list of instructions"));
  CHECK(contains(message("[3]"), "item 0: expected an object"));
  CHECK(contains(message(R"([{"instruction": "a", "output": "b"}, {"instruction": "a"}])"),
                 "item 1: expected a text \"output\""));
  CHECK(contains(message(R"([{"instruction": "a", "output": "b", "input": 3}])"), "item 0: expected a text \"input\""));
  CHECK(contains(message(R"([{"instruction": "a", "output": "b"}])"), "1 items are too few"));
  CHECK(contains(error_of([] { Instructions({.source = "nowhere.json"}, {}); }), "nowhere.json: no such file"));
}

TEST_CASE("Alpaca's prompt, with and without an input") {
  CHECK(prompt_of({"Do.", "", "x"}, PromptTemplate::alpaca) ==
        "Below is an instruction that describes a task. Write a response that appropriately completes the "
        "request.\n\n### Instruction:\nDo.\n\n### Response:\n");
  CHECK(prompt_of({"Do.", "It", "x"}, PromptTemplate::alpaca) ==
        "Below is an instruction that describes a task, paired with an input that provides further context. Write a "
        "response that appropriately completes the request.\n\n### Instruction:\nDo.\n\n### Input:\nIt\n\n### "
        "Response:\n");
}
