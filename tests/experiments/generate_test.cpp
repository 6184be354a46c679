// What generate says of the keys and values that it keeps.
#include <fmt/core.h>

#include "tests/experiments/program_json.h"
#include "tests/support/catch.h"

using namespace headroom::testing;

namespace {

/// What --stats says on standard error.
std::string stats_of(const TemporaryFolder& folder, const std::string& arguments) {
  Program program(folder.path(),
                  fmt::format("generate {} --prompt 'the text' --max-tokens 4 --stats {}", small_model(), arguments));
  const int status = program.wait();
  INFO(program.err());
  REQUIRE(status == 0);
  return program.err();
}

}  // namespace

TEST_CASE("generate keeps keys and values in f16, and in f32 where it computes exactly or in f64", "[generate]") {
  const TemporaryFolder folder;
  // Two layers with one key-value head of width 8: 32 numbers a token.
  for (const auto& [arguments, kept] : {std::pair{"", "64 bytes per token in f16"},
                                        {"--exact", "128 bytes per token in f32"},
                                        {"--dtype f64", "128 bytes per token in f32"},
                                        {"--cache-dtype f32", "128 bytes per token in f32"},
                                        {"--exact --cache-dtype bf16", "64 bytes per token in bf16"}}) {
    INFO(arguments);
    CHECK_THAT(stats_of(folder, arguments), contains(kept));
  }
  CHECK_THAT(
      complaint(folder.path(), fmt::format("generate {} --prompt a --dtype f64 --cache-dtype f16", small_model()), 1),
      contains("--cache-dtype f16: with --dtype f64 keys and values are not rounded"));
}

TEST_CASE("eval measures with keys and values in f32 unless it is told to round them", "[generate]") {
  const TemporaryFolder folder;
  const std::string eval = fmt::format("eval {} --text {} --context 32", small_model(), small_text());
  const nlohmann::json usual = run_json(folder, eval), halves = run_json(folder, eval + " --cache-dtype f16");
  CHECK(usual["cache"] == nlohmann::json{{"dtype", "f32"}, {"bytes_per_token", 128}});
  CHECK(halves["cache"] == nlohmann::json{{"dtype", "f16"}, {"bytes_per_token", 64}});
  CHECK(usual["ppl"] != halves["ppl"]);
  CHECK(usual["ppl"].get<double>() == Approx(halves["ppl"].get<double>()).epsilon(1e-3));
}

TEST_CASE("generate --parallel draws the texts that it draws alone, seed by seed", "[generate]") {
  const TemporaryFolder folder;
  const std::string generate =
      fmt::format("generate {} --prompt 'the text' --max-tokens 12 --exact --temperature 2", small_model());
  const nlohmann::json all = run_json(folder, generate + " --seed 4 --parallel 3");
  REQUIRE(all["texts"].size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    const nlohmann::json one = run_json(folder, fmt::format("{} --seed {}", generate, 4 + i));
    CHECK(all["texts"][i]["seed"] == 4 + i);
    for (const char* key : {"text", "tokens", "ending"}) CHECK(all["texts"][i][key] == one[key]);
    CHECK(all["prompt_tokens"] == one["prompt_tokens"]);
  }
  CHECK(all["texts"][0]["tokens"] != all["texts"][1]["tokens"]);
  Program shown(folder.path(), generate + " --seed 4 --parallel 2 --stats");
  CHECK(shown.wait() == 0);
  CHECK_THAT(shown.out(), contains("--- 1 of 2, seed 4\n") && contains("\n--- 2 of 2, seed 5\n"));
  CHECK_THAT(shown.err(), contains("; 2 texts, ") && contains("/s in all; cache 128 bytes per token in f32 and text"));
}

TEST_CASE("generate --parallel 1 is generate, and what makes no sense is said", "[generate]") {
  const TemporaryFolder folder;
  const auto answer = [&](const std::string& arguments, int wanted) {
    Program program(folder.path(), arguments);
    CHECK(program.wait() == wanted);
    return program.out() + program.err();
  };
  const std::string generate = fmt::format("generate {} --prompt 'the text' --max-tokens 6", small_model());
  CHECK(answer(generate + " --parallel 1", 0) == answer(generate, 0));
  CHECK_THAT(answer(generate + " --parallel 2", 0), contains("the texts are all the same, as --temperature 0"));
  CHECK_THAT(answer(generate + " --parallel 0", 2), contains("--parallel"));
  CHECK_THAT(answer(fmt::format("chat {} --parallel 2", small_model()), 2), contains("--parallel"));
}
