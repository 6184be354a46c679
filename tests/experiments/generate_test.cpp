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
