// Commands that run a trained model, on a GPU or the emulator: what they say on the CPU, to rounding.
#include <fmt/core.h>

#include "engine/transfer.h"
#include "tests/experiments/program_json.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::testing;

namespace {

using nlohmann::json;

bool is_absent() {
  if (engine::has_device(engine::Device::Kind::cuda)) return false;
  testing::skip("no CUDA device");
  return true;
}

/// What a command answers on the device, without a word on the side: every step and token was recorded.
json on_device(const TemporaryFolder& folder, const std::string& arguments) {
  Program program(folder.path(), arguments + " --device cuda --json");
  const int status = program.wait();
  INFO(program.err());
  REQUIRE(status == 0);
  CHECK(program.err().empty());
  return json::parse(program.out());
}

std::vector<double> numbers(const json& list) { return list.get<std::vector<double>>(); }

void check_near(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(1e-4));
}

}  // namespace

TEST_CASE("a trained model generates and is measured on the device, in every form of its weights") {
  if (is_absent()) return;
  const TemporaryFolder folder;
  for (const char* weights : {"stored", "bf16", "computed"}) {
    INFO(weights);
    for (const char* cache : {"", " --cache-dtype f32"}) {
      const std::string generate =
          fmt::format("generate {} --prompt 'the text' --max-tokens 12 --temperature 1 --seed 3 --weights {}{}",
                      small_model(), weights, cache);
      CHECK(on_device(folder, generate)["tokens"] == run_json(folder, generate)["tokens"]);
    }
    const std::string eval =
        fmt::format("eval {} --text {} --context 32 --weights {}", small_model(), small_text(), weights);
    CHECK(on_device(folder, eval)["ppl"].get<double>() ==
          Approx(run_json(folder, eval)["ppl"].get<double>()).epsilon(1e-4));
  }
}

TEST_CASE("keys and values are kept on the device in the types that the CPU has") {
  if (is_absent()) return;
  const TemporaryFolder folder;
  const std::string generate = fmt::format(
      "generate {} --prompt 'the text' --max-tokens 6 --temperature 1 --seed 3 --parallel 2", small_model());
  for (const auto& [arguments, kept] : {std::pair{"", "64 bytes per token in f16"},
                                        {" --cache-dtype bf16", "64 bytes per token in bf16"},
                                        {" --exact", "128 bytes per token in f32"}}) {
    INFO(arguments);
    CHECK(on_device(folder, generate + arguments)["texts"] == run_json(folder, generate + arguments)["texts"]);
    Program program(folder.path(), generate + arguments + " --stats --device cuda");
    CHECK(program.wait() == 0);
    CHECK(program.err().find(kept) != std::string::npos);
  }
  for (const char* cache : {"f16", "bf16"}) {
    const std::string eval =
        fmt::format("eval {} --text {} --context 32 --cache-dtype {}", small_model(), small_text(), cache);
    CHECK(on_device(folder, eval)["ppl"].get<double>() ==
          Approx(run_json(folder, eval)["ppl"].get<double>()).epsilon(1e-4));
  }
  Program blocks(folder.path(), generate + " --cache-dtype q8_0 --device cuda");
  CHECK(blocks.wait() != 0);
  CHECK(blocks.err().find("no whole blocks of 32 numbers; f16 takes any width") != std::string::npos);
}

TEST_CASE("what the CPU knows of a model is verified on the device, and its heads measure the same there") {
  if (is_absent()) return;
  const TemporaryFolder folder;
  CHECK(
      Program(folder.path(), "verify-model " + small_model() + " --write known --prompt 'the text of a head'").wait() ==
      0);
  Program verified(folder.path(), "verify-model " + small_model() + " --against known --device cuda");
  CHECK(verified.wait() == 0);
  INFO(verified.err());
  CHECK_THAT(verified.out(), contains("verified: 1 text"));
  const std::string probe = fmt::format("probe {} --text {} --lengths 8,16 --spans 2", small_model(), small_text());
  const json want = run_json(folder, probe), got = on_device(folder, probe);
  REQUIRE(got["heads"].size() == want["heads"].size());
  for (size_t head = 0; head < want["heads"].size(); ++head)
    for (const char* measure : {"norm", "norm_slope", "largest_logit", "entropy", "sink_mass"}) {
      INFO(head << " " << measure);
      CHECK(got["heads"][head]["measures"][measure].get<double>() ==
            Approx(want["heads"][head]["measures"][measure].get<double>()).epsilon(1e-3));
    }
}

TEST_CASE("fine-tuning on the device goes as on the CPU: on a text in parts, on sentences, of one part of the model") {
  if (is_absent()) return;
  const TemporaryFolder folder;
  std::string table = "label\tsentence\n";
  for (int i = 0; i < 6; ++i) table += "0\tthe text of a head\n1\tof a head the width\n";
  write_bytes(folder / "t.tsv", table);
  const std::string text = fmt::format("--text {} --validate {} --context 32", small_text(), small_text());
  for (const std::string& training :
       {text + " --steps 6 --accumulate 2", text + " --steps 5 --train heads --recompute --format compact",
        std::string("--table t.tsv --validate t.tsv --steps 6")}) {
    INFO(training);
    const std::string command = fmt::format("finetune {} -o out --force --lr 3e-3 {}", small_model(), training);
    const json want = run_json(folder, command), got = on_device(folder, command);
    check_near(numbers(got["losses"]), numbers(want["losses"]));
    for (const auto& [name, value] : want["after"].items())
      CHECK(got["after"][name].get<double>() == Approx(value.get<double>()).epsilon(1e-3));
  }
  Program full(folder.path(), fmt::format("finetune {} -o full --device cuda --batch 256 {}", small_model(), text),
               "HEADROOM_CUDA_MEMORY=1000000");
  if (full.wait() == 0) return;  // not on the emulator
  CHECK(full.err().find("and the free memory of cuda:0 is 977 KiB: --accumulate ") != std::string::npos);
}

TEST_CASE("a model is compressed with what the device computed as with what the CPU did") {
  if (is_absent()) return;
  const TemporaryFolder folder;
  std::vector<std::string> makings{"--method whitened-grouped --mean-rank 4"};
  for (const char* target : {"logits", "hidden", "attention"})
    makings.push_back(
        fmt::format("--method plain --rank 2 --refine {} --refine-text {} --refine-tokens :400 "
                    "--refine-steps 5 --refine-context 32",
                    target, small_text()));
  for (const std::string& making : makings) {
    INFO(making);
    const std::string command = fmt::format(
        "compress {} -o out --force --no-speed --context 32 --format compact --calibrate {} "
        "--calibrate-tokens :400 --eval {} --eval-tokens 500: {}",
        small_model(), small_text(), small_text(), making);
    const json want = run_json(folder, command), got = on_device(folder, command);
    CHECK(got["qk_ranks"] == want["qk_ranks"]);
    CHECK(got["after"]["perplexity"].get<double>() == Approx(want["after"]["perplexity"].get<double>()).epsilon(1e-3));
    if (want.contains("refinement"))
      CHECK(got["refinement"]["last_loss"].get<double>() ==
            Approx(want["refinement"]["last_loss"].get<double>()).epsilon(1e-3));
  }
}
