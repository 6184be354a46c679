// The finetune command: killed at any moment it ends in the bytes of a run that was not, and what it writes is read
// back by the other commands.
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/experiments/program_json.h"
#include "tests/support/catch.h"

using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Sentences whose class is that of their last word.
std::string table() {
  std::string rows = "label\tsentence\n";
  for (int i = 0; i < 12; ++i) rows += i % 2 == 0 ? "0\tthe text of a head\n" : "1\tof a head the width\n";
  return rows;
}

}  // namespace

TEST_CASE("fine-tuning on a text lowers its perplexity, and eval agrees", "[finetune]") {
  const TemporaryFolder folder;
  const json result =
      run_json(folder, fmt::format("finetune {} -o out --text {} --validate {} --context 32 --steps 30 --lr "
                                   "3e-3 --log log.jsonl",
                                   small_model(), small_text(), small_text()));
  CHECK(result["trained"] == result["parameters"]);
  CHECK(result["losses"].size() == 30);
  const double before = result["before"]["perplexity"], after = result["after"]["perplexity"];
  CHECK(after < before / 2);
  const json judged = run_json(folder, fmt::format("eval out --exact --text {} --context 32", small_text()));
  CHECK(judged["ppl"].get<double>() == Approx(after).epsilon(1e-6));
  const std::string log = read(folder / "log.jsonl");
  CHECK(std::count(log.begin(), log.end(), '\n') == 30);
  const json first = json::parse(log.substr(0, log.find('\n')));
  CHECK(first["loss"] == result["losses"][0]);
  CHECK(first["examples"].size() == 4);
  const std::string card = read(folder / "out" / "README.md");
  CHECK_THAT(card, contains("`headroom finetune " + (checkpoints() / "smollm2").string() + " -o out --text "));
  CHECK_THAT(card, contains("- refined: 30 steps of "));
}

TEST_CASE("a compact model stays one, unless another format is asked for", "[finetune]") {
  const TemporaryFolder folder;
  REQUIRE(Program(folder.path(), fmt::format("compress {} -o small --method plain --rank 4 --no-speed --format compact",
                                             small_model()))
              .wait() == 0);
  const auto tune = [&](const std::string& out) {
    return run_json(folder, fmt::format("finetune small -o {} --text {} --context 32 --steps 2", out, small_text()));
  };
  const int64_t parameters = tune("tuned")["parameters"];
  CHECK_THAT(read(folder / "tuned/config.json"), contains("\"model_type\": \"headroom\""));
  const json again =
      run_json(folder, fmt::format("finetune tuned -o twice --text {} --context 32 --steps 1", small_text()));
  CHECK(again["parameters"] == parameters);
  tune("full.gguf");
  const json full = tune("full --format compat"), halved = tune("half --format compat --dtype bf16");
  CHECK_THAT(read(folder / "full/config.json"), contains("\"model_type\": \"llama\""));
  CHECK_THAT(full["notes"].dump(), contains("the new files have ") && contains("; --dtype bf16 would make about "));
  CHECK(halved["file_bytes"] < full["file_bytes"]);
  CHECK(Program(folder.path(), "finetune small -o no --format compat --dtype q8_0 --steps 1 --text " + small_text())
            .wait() != 0);
}

TEST_CASE("only the chosen part moves", "[finetune]") {
  const TemporaryFolder folder;
  const json result =
      run_json(folder, fmt::format("finetune {} -o out --text {} --context 32 --steps 3 --lr 1e-2 --train "
                                   "heads --format compact",
                                   small_model(), small_text()));
  CHECK(result["trained"].get<int64_t>() < result["parameters"].get<int64_t>() / 2);
  const auto files = headroom::models::ModelFiles::open(folder / "out");
  const auto tuned = files->load({.keep = headroom::models::Keep::computed}),
             base = headroom::models::ModelFiles::open(checkpoints() / "smollm2")
                        ->load({.keep = headroom::models::Keep::computed});
  const auto ours = tuned->weights(), theirs = base->weights();
  REQUIRE(ours.size() == theirs.size());
  int moved = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    INFO(ours[i].first);
    const bool is_head =
        ours[i].first.find("q_proj") != std::string::npos || ours[i].first.find("k_proj") != std::string::npos;
    const bool is_same = ours[i].second.to_vector<float>() == theirs[i].second.to_vector<float>();
    CHECK(is_same == !is_head);
    moved += is_head ? 1 : 0;
  }
  CHECK(moved == 4);
}

TEST_CASE("a classifier of a table is written and read back", "[finetune]") {
  const TemporaryFolder folder;
  write_bytes(folder / "t.tsv", table());
  const json result =
      run_json(folder, "finetune " + small_model() + " -o out --table t.tsv --validate t.tsv --epochs 20 --lr 1e-2");
  CHECK(result["steps"] == 60);
  CHECK(result["after"]["accuracy"] == 1.0);
  CHECK(result["after"]["cross_entropy"].get<double>() < result["before"]["cross_entropy"].get<double>() / 2);
  const auto files = headroom::models::ModelFiles::open(folder / "out");
  const headroom::models::TransformerConfig& config = files->description().config;
  CHECK(config.pooling == headroom::models::Pooling::last);
  CHECK(config.output_dim == 2);
  const json goes_on =
      run_json(folder, "finetune out -o more --table t.tsv --validate t.tsv --steps 1 --format compact");
  CHECK(goes_on["before"] == result["after"]);  // its readout is kept
  CHECK_THAT(read(folder / "out" / "config.json"), contains("LlamaForSequenceClassification"));
  CHECK_THAT(complaint(folder.path(), "generate out --prompt 'the'", 1),
             contains("only a causal model without pooling decodes"));
}

TEST_CASE("recomputed layers give the same bytes", "[finetune]") {
  const TemporaryFolder folder;
  for (const char* option : {"", "--recompute"})
    run_json(folder, fmt::format("finetune {} -o out{} --text {} --context 32 --steps 6 {}", small_model(), option,
                                 small_text(), option));
  CHECK(read(folder / "out" / "model.safetensors") == read(folder / "out--recompute" / "model.safetensors"));
}

TEST_CASE("killed again and again, a fine-tuning ends in the same bytes", "[finetune]") {
  const TemporaryFolder folder;
  write_bytes(folder / "t.tsv", table());
  for (const auto& data : {"--text " + small_text() + " --context 32 --batch 32", std::string("--table t.tsv")}) {
    fs::remove_all(folder / "whole");
    fs::remove_all(folder / "resumed");
    fs::remove_all(folder / "saved");
    for (const char* log : {"whole.jsonl", "resumed.jsonl"}) fs::remove(folder / log);
    const std::string settings = " --steps 1500 --lr 1e-3 --warmup 5 --save-every 7 " + data;
    const json whole = run_json(folder, "finetune " + small_model() + " -o whole" + settings + " --log whole.jsonl");
    const std::string command =
        "finetune " + small_model() + " -o resumed" + settings + " --checkpoint saved --log resumed.jsonl --json";
    int kills = 0, status = -1;
    for (useconds_t wait = 30'000; status != 0; wait += 40'000) {
      Program program(folder.path(), command);
      for (useconds_t slept = 0; slept < wait && program.is_running(); slept += 5'000) usleep(5'000);
      if (program.is_running()) {
        program.signal(SIGKILL);
        ++kills;
      }
      status = program.wait();
      if (status != 0 && fs::exists(folder / "resumed")) break;  // it was done when the signal came
      INFO(program.err());
      REQUIRE((status == 0 || status == -SIGKILL));
      if (status != 0) continue;
      const json resumed = json::parse(program.out());
      CHECK(resumed["losses"] == whole["losses"]);
      CHECK(resumed["before"] == whole["before"]);
      CHECK(resumed["after"] == whole["after"]);
    }
    CHECK(kills > 0);
    CHECK(read(folder / "whole" / "model.safetensors") == read(folder / "resumed" / "model.safetensors"));
    CHECK(std::count_if(fs::directory_iterator(folder / "saved"), fs::directory_iterator(),
                        [](const auto&) { return true; }) == 1);
    if (status != 0) continue;  // the last kill may have come between the model and its log
    const std::string log = read(folder / "resumed.jsonl");
    CHECK(std::count(log.begin(), log.end(), '\n') == 1500);
  }
}

TEST_CASE("a fine-tuning that is told to stop saves its last step and goes on from there", "[finetune]") {
  const TemporaryFolder folder;
  const std::string command = "finetune " + small_model() + " --steps 1500 --lr 1e-3 --context 32 --batch 32 --text " +
                              small_text() + " --save-every 1000000 -o ";
  const json whole = run_json(folder, command + "whole");
  int status = -1;
  for (useconds_t wait = 40'000; !fs::exists(folder / "saved/finetune.safetensors"); wait += 40'000) {
    Program program(folder.path(), command + "resumed --checkpoint saved");
    usleep(wait);
    program.signal(SIGHUP);
    status = program.wait();
    REQUIRE(status != 0);
    if (fs::exists(folder / "saved/finetune.safetensors")) CHECK_THAT(program.err(), contains("stopped after step "));
  }
  CHECK(status == 130);
  const json resumed = run_json(folder, command + "resumed --checkpoint saved");
  CHECK(resumed["resumed_at"] > 0);
  CHECK(resumed["losses"] == whole["losses"]);
  CHECK(read(folder / "whole" / "model.safetensors") == read(folder / "resumed" / "model.safetensors"));
}

TEST_CASE("a checkpoint of another training is refused by the setting that differs", "[finetune]") {
  const TemporaryFolder folder;
  const std::string rest = " --context 32 --checkpoint saved --text " + small_text();
  run_json(folder, "finetune " + small_model() + " -o out --steps 4" + rest);
  const auto refusal = [&](const std::string& arguments) {
    return complaint(folder.path(), "finetune " + arguments + " -o other" + rest, 1);
  };
  CHECK_THAT(refusal(small_model() + " --steps 5"),
             contains("saved/finetune.safetensors: is of a training with --steps 4, this one has 5"));
  CHECK_THAT(refusal(small_model() + " --steps 4 --lr 1"),
             contains("is of a training with --lr 2e-05, this one has 1"));
  CHECK_THAT(refusal("out --steps 4"), contains("is of a training with MODEL "));
  CHECK_FALSE(fs::exists(folder / "other"));
  write_bytes(folder / "saved" / "finetune.safetensors", "not safetensors");
  CHECK_THAT(refusal(small_model() + " --steps 4"), contains("saved/finetune.safetensors: "));
}
