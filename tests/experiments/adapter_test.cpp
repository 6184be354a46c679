// LoRA adapters: trained, resumed, applied by every command that runs a model, translated, merged.
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "models/safetensors/safetensors.h"
#include "tests/experiments/program_json.h"
#include "tests/support/catch.h"

using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Trains `out` with these further arguments.
json trained(const TemporaryFolder& folder, const std::string& model, const std::string& out,
             const std::string& more = "") {
  return run_json(
      folder, fmt::format("finetune {} -o {} --text {} --validate {} --context 32 --lora-rank 4 --lr 1e-2 {}", model,
                          out, small_text(), small_text(), more.empty() ? "--steps 30" : more));
}

double perplexity(const TemporaryFolder& folder, const std::string& arguments) {
  return run_json(folder, fmt::format("eval {} --exact --text {} --context 32", arguments, small_text()))["ppl"];
}

}  // namespace

TEST_CASE("an adapter is trained alone, and every command applies it", "[adapter]") {
  const TemporaryFolder folder;
  const json result = trained(folder, small_model(), "out", "--steps 30 --lora-on q,v,down");
  const double before = result["before"]["perplexity"], after = result["after"]["perplexity"];
  CHECK(after < before / 1.5);
  CHECK(result["train"] == "q,v,down, rank 4, alpha 8");
  CHECK(result["trained"].get<int64_t>() < result["parameters"].get<int64_t>() / 3);
  const json config = json::parse(read(folder / "out" / "adapter_config.json"));
  CHECK(config["peft_type"] == "LORA");
  CHECK(config["r"] == 4);
  CHECK(config["lora_alpha"] == 8);
  CHECK(config["target_modules"] == json({"down_proj", "q_proj", "v_proj"}));
  const headroom::models::SafetensorsFile file(folder / "out" / "adapter_model.safetensors");
  CHECK(file.names().size() == 2 * 2 * 3);
  CHECK(file.contains("base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight"));
  CHECK(file.contains("base_model.model.model.layers.0.mlp.down_proj.lora_B.weight"));
  CHECK(perplexity(folder, small_model()) == Approx(before).epsilon(1e-6));
  CHECK(perplexity(folder, small_model() + " --adapter out") == Approx(after).epsilon(1e-6));
  const json against = run_json(folder, fmt::format("eval {} --adapter out --against {} --exact --text {} --context 32",
                                                    small_model(), small_model(), small_text()));
  CHECK(against["ppl_ratio"].get<double>() == Approx(after / before).epsilon(1e-5));  // the base is without it
  const std::vector<std::string> commands{"generate {} --prompt 'the text' --max-tokens 8 --temperature 0 --exact",
                                          "logits {} --prompt 'the cat'", "probe {} --text " + small_text()};
  for (const std::string& command : commands) {
    const std::string plain = fmt::format(fmt::runtime(command), small_model());
    CHECK(output_of(folder.path(), plain) != output_of(folder.path(), plain + " --adapter out"));
  }
}

TEST_CASE("a killed training of an adapter ends in the same bytes, and saves the adapter's state alone", "[adapter]") {
  const TemporaryFolder folder;
  const std::string settings = "--steps 400 --batch 16 --save-every 7 --seed 3";
  const json whole = trained(folder, small_model(), "whole", settings);
  const std::string command = fmt::format(
      "finetune {} -o resumed --text {} --validate {} --context 32 --lora-rank 4 --lr 1e-2 {} --checkpoint saved",
      small_model(), small_text(), small_text(), settings);
  CHECK(killed_runs(folder.path(), command, 6, [](int i) { return 80'000 + 60'000 * i; }) > 0);
  if (!fs::exists(folder / "resumed")) {
    const json resumed = run_json(folder, command);
    CHECK(resumed["losses"] == whole["losses"]);
  }
  for (const char* name : {"adapter_model.safetensors", "adapter_config.json"})
    CHECK(read(folder / "whole" / name) == read(folder / "resumed" / name));
  const headroom::models::SafetensorsFile saved(folder / "saved" / "finetune.safetensors");
  for (const std::string& name : saved.names())
    if (name.starts_with("model.")) CHECK((name.ends_with(".lora_a") || name.ends_with(".lora_b")));
  CHECK_THAT(complaint(folder.path(), command + " --lora-alpha 1 --force", 1),
             contains("is of a training with --train q,k,v,o,gate,up,down, rank 4, alpha 8, this one has "));
  trained(folder, small_model(), "again", settings + " --recompute");
  CHECK(read(folder / "whole/adapter_model.safetensors") == read(folder / "again/adapter_model.safetensors"));
}

TEST_CASE("an adapter of a GGUF file is PEFT's of the folder, a GGUF adapter, and what merging makes", "[adapter]") {
  const TemporaryFolder folder;
  const std::string model = "base.gguf", source = small_model();  // whose rows of queries and keys differ in order
  REQUIRE(Program(folder.path(), "convert " + source + " -o base.gguf").wait() == 0);
  const std::string data =
      fmt::format("--text {0} --validate {0} --context 32 --steps 20 --lr 1e-2 --lora-rank 3", small_text());
  const double after = run_json(folder, fmt::format("finetune {} -o peft {}", model, data))["after"]["perplexity"];
  run_json(folder, fmt::format("finetune {} -o direct.gguf {}", model, data));
  for (const char* command :
       {"-o made.gguf --format adapter", "-o merged --format compat", "-o merged.gguf", "-o small.gguf --dtype q8_0"})
    REQUIRE(Program(folder.path(), fmt::format("convert {} --adapter peft {}", model, command)).wait() == 0);
  REQUIRE(Program(folder.path(), "convert " + source + " --adapter made.gguf -o back --format adapter").wait() == 0);
  CHECK(read(folder / "direct.gguf") == read(folder / "made.gguf"));
  CHECK(read(folder / "peft/adapter_model.safetensors") == read(folder / "back/adapter_model.safetensors"));
  for (const std::string& arguments :
       {model + " --adapter peft", source + " --adapter peft", source + " --adapter made.gguf", std::string("merged"),
        std::string("merged.gguf")}) {
    INFO(arguments);
    CHECK(perplexity(folder, arguments) == Approx(after).epsilon(1e-5));
  }
  const double rounded = perplexity(folder, "small.gguf");
  CHECK(rounded != after);
  CHECK(rounded == Approx(after).epsilon(0.02));
  CHECK_THAT(complaint(folder.path(), "generate made.gguf --prompt x", 1),
             contains("is a LoRA adapter: name its base"));
  CHECK_THAT(complaint(folder.path(), "generate peft --prompt x", 1), contains("and this with --adapter"));
}
