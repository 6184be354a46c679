// The compress command: ranks and budgets, refinement that a killed run goes on with, and what it writes is read back
// by the other commands.
#include <fmt/core.h>

#include "tests/experiments/program_json.h"
#include "tests/support/catch.h"

using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string command(const std::string& arguments) {
  return fmt::format("compress {} -o out --no-speed --context 32 --calibrate {} --calibrate-tokens :400 {}",
                     small_model(), small_text(), arguments);
}

double share(const json& made, const char* what) {
  return made["after"][what].get<double>() / made["before"][what].get<double>();
}

}  // namespace

TEST_CASE("compressed models of every format compute what compress measured", "[compress]") {
  for (const auto& [format, method] : {std::pair{"compat", "whitened-grouped"},
                                       {"compact", "whitened-rotated-grouped"},
                                       {"plain", "pairs-even --part qk,vo --vo-method whitened"}}) {
    INFO(format << " " << method);
    const TemporaryFolder folder;
    const json made = run_json(folder, command(fmt::format("--method {} --rank 4 --format {} --eval {} --eval-tokens "
                                                           "500:",
                                                           method, format, small_text())));
    CHECK(made["after"]["perplexity"] != made["before"]["perplexity"]);
    const json before = run_json(folder, fmt::format("eval out --exact --text {} --context 32", small_text()));
    CHECK(before["tokens_scored"].get<int64_t>() > 0);
    CHECK_THAT(read(folder / "out" / "README.md"), contains("queries and keys"));
  }
}

TEST_CASE("budgets are kept, and heads get ranks of their own", "[compress]") {
  const std::string method = "--part qk,vo --method whitened-rotated-grouped --vo-method whitened --format compact ";
  {
    const TemporaryFolder folder;
    const json made = run_json(folder, command(method + "--cache 0.5"));
    CHECK(share(made, "kv_cache_bytes_per_token") <= 0.5);
    CHECK(share(made, "kv_cache_bytes_per_token") > 0.3);
    CHECK(made["ranks"] == "--cache 0.5");
  }
  const std::string factors = "--method whitened-grouped --format compact ";
  const TemporaryFolder equal, spent, kept, within;
  const json a = run_json(equal, command(factors + "--rank 2"));
  const json b = run_json(spent, command(factors + "--mean-rank 2"));
  CHECK(b["after"]["parameters"] <= a["after"]["parameters"]);
  const json c = run_json(kept, command(factors + "--keep 1"));
  CHECK(c["after"]["parameters"] == c["before"]["parameters"]);
  const json d = run_json(within, command(factors + "--kl 1e9"));
  CHECK(d["after"]["parameters"] < b["after"]["parameters"]);
}

TEST_CASE("a refinement that was killed goes on to the same bits", "[compress]") {
  const std::string refined =
      command(fmt::format("--method plain --rank 2 --format compact --refine logits "
                          "--refine-text {} --refine-steps 60 --refine-context 32",
                          small_text()));
  const TemporaryFolder whole, killed;
  const json made = run_json(whole, refined);
  CHECK(made["refinement"]["last_loss"] < made["refinement"]["first_loss"]);
  CHECK(made["refinement"]["trained"].get<int64_t>() > 0);

  {
    Program program(killed.path(), refined + " --checkpoint half.safetensors");
    while (!fs::exists(killed / "half.safetensors") && program.is_running()) usleep(1000);
    program.signal(SIGKILL);
    program.wait();
  }
  REQUIRE_FALSE(fs::exists(killed / "out"));
  const json resumed = run_json(killed, refined + " --checkpoint half.safetensors");
  CHECK(resumed["refinement"] == made["refinement"]);
  CHECK(read(killed / "out" / "model.safetensors") == read(whole / "out" / "model.safetensors"));
}
