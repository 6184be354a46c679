// What headroom plan counts of a model: its parameters, cache and FLOPs at each width of its heads, from config.json,
// TOML and GGUF.
#include <fmt/format.h>

#include <algorithm>

#include "experiments/tools/plan/plan_page.h"
#include "models/costs.h"
#include "tests/experiments/plan_models.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

std::string refusal(const std::string& config) {
  return error_of([&] { parse_plan_json(config, "config.json"); });
}

}  // namespace

TEST_CASE("SmolLM2-135M counted from its config.json") {
  const CostPlan plan = plan_costs(costs_on_h100(smollm2()));
  const auto own = std::find_if(plan.rows.begin(), plan.rows.end(), [](const CostRow& row) { return row.is_model; });
  REQUIRE(own != plan.rows.end());
  CHECK(own->head_dim == 64);
  CHECK(own->costs.parameters == 134515008);
  CHECK(own->costs.kv_bytes == 30 * 2 * 3 * 64 * 2);
  CHECK(own->costs.backward_flops == 2 * own->costs.forward_flops);
  CHECK(own->costs.optimizer_bytes == 12.0 * 134515008);
  CHECK(own->costs.recompute_bytes < own->costs.activation_bytes);
  CHECK(own->times.train_step >= 3 * own->costs.forward_flops * 2048 / 989.4e12);
  for (size_t i = 1; i < plan.rows.size(); ++i)
    CHECK(plan.rows[i].costs.parameters > plan.rows[i - 1].costs.parameters);
  CHECK(cost_json(plan)["rows"].size() == plan.rows.size());
  CHECK(contains(cost_text(plan), "135 M"));
}

TEST_CASE("other families: Qwen's biases and norms, GPT-2's names") {
  const auto parameters = [](const std::string& config) {
    CostRequest request = costs_on_h100(config);
    request.head_dims = {64};
    return plan_costs(request).rows[0].costs.parameters - 134515008;
  };
  CHECK(parameters(smollm2()) == 0);
  CHECK(parameters(smollm2("model_type", "qwen2")) == 30 * (9 + 2 * 3) * 64);  // biases on Q, K and V
  CHECK(parameters(smollm2("model_type", "qwen3")) == 30 * 2 * 64);
  CHECK(parameters(smollm2("tie_word_embeddings", false)) == 49152 * 576);  // a readout without a bias
  CostRequest gpt = costs_on_h100(smollm2());
  gpt.model = parse_plan_json(
      R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024})",
      "config.json");
  gpt.context = 1024;
  gpt.head_dims = {64};
  CHECK(plan_costs(gpt).rows[0].costs.parameters == 124439808);
  gpt.context = 1025;
  CHECK(error_of([&] { plan_costs(gpt); }) == "--context: 1025 is longer than the model's 1024 learned positions");
}

TEST_CASE("a config.json with missing, wrong or contradictory fields is refused by the field's name") {
  for (const char* field :
       {"model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"})
    CHECK(refusal(smollm2(field)) == fmt::format("config.json: {}: missing", field));
  CHECK(refusal(smollm2("num_key_value_heads", 4)) ==
        "config.json: num_key_value_heads: 4 does not divide num_attention_heads = 9");
  CHECK(contains(refusal(smollm2("hidden_size", 577)), "num_attention_heads: 9 does not divide hidden_size = 577"));
  CHECK(contains(refusal(smollm2("n_embd", 768)), "hidden_size: 576 contradicts n_embd = 768"));
  CHECK(contains(refusal(smollm2("hidden_size", 0)), "hidden_size: expected an integer from 1"));
  CHECK(contains(refusal(smollm2("hidden_size", -576)), "hidden_size: expected an integer from 1"));
  CHECK(contains(refusal(smollm2("hidden_size", 1e30)), "hidden_size: expected an integer from 1"));
  CHECK(contains(refusal(smollm2("hidden_size", "576")), "hidden_size: expected an integer from 1"));
  CHECK(contains(refusal(smollm2("vocab_size", uint64_t(1) << 63)), "vocab_size: expected an integer from 1"));
  CHECK(contains(refusal(smollm2("tie_word_embeddings", 1)), "tie_word_embeddings: expected true or false"));
  CHECK(contains(refusal(smollm2("model_type", "bert")), "model_type: expected one of llama"));
  CHECK(contains(refusal(smollm2("hidden_act", "tanh")), "hidden_act: expected silu or gelu"));
  CHECK(contains(refusal(smollm2("head_dim", 63)), "rope needs it to be even"));
  CHECK(contains(refusal("[1]"), "config.json: expected a JSON object"));
  CHECK(contains(refusal("{"), "config.json: "));
}

TEST_CASE("a model as TOML, and what is wrong with it") {
  const std::string text =
      "vocab = 65\ncontext = 64\n[model]\nkind = \"decoder\"\nlayers = 3\nwidth = 128\nheads = 4\n";
  const PlanModel model = parse_plan_toml(text, "m.toml");
  CHECK(model.config.vocab == 65);
  CHECK(model.config.max_length == 64);
  CHECK(model.config.groups[0].qk_dim == 32);
  const auto wrong = [](const std::string& toml) { return error_of([&] { parse_plan_toml(toml, "m.toml"); }); };
  CHECK(contains(wrong(text.substr(11)), "vocab"));
  CHECK(contains(wrong(replaced(text, "heads = 4", "heads = 5")), "model.heads: 5 does not divide"));
  CHECK(contains(wrong(replaced(text, "layers = 3", "leyers = 3")), "leyers"));
  CHECK(contains(wrong("vocab = 65\n"), "model: missing table"));
}

TEST_CASE("head widths: lists, ranges, and those that a model cannot have") {
  CHECK(parse_head_dims("64,32") == std::vector<int64_t>{32, 64});
  CHECK(parse_head_dims("16:128") == std::vector<int64_t>{16, 32, 64, 128});
  CHECK(parse_head_dims("16:40:12") == std::vector<int64_t>{16, 28, 40});
  for (const char* text : {"", "0", "a", "64:32", "1:2:3:4", "8:16:0", "1:1000000:1"})
    CHECK(contains(error_of([&] { parse_head_dims(text); }), "--head-dims"));
  CostRequest request = costs_on_h100(smollm2());
  request.head_dims = {7};
  CHECK(error_of([&] { plan_costs(request); }) == "--head-dims: 7 is odd: RoPE turns pairs");
  request.keep_width = true;
  request.head_dims = {32};
  const CostPlan plan = plan_costs(request);
  CHECK(plan.rows[0].heads == 18);
  CHECK(plan.rows[0].kv_heads == 6);
  CHECK(plan.rows[0].costs.parameters == 134515008);
  request.head_dims = {128};
  CHECK(contains(error_of([&] { plan_costs(request); }), "128 does not divide both"));
  CHECK(contains(error_of([] { machine_named("abacus"); }), "--on: no machine \"abacus\": expected one of"));
}

TEST_CASE("a GGUF file and a folder of one model cost the same") {
  const std::string checkpoints = std::string(source_root()) + "/tests/models/pretrained/checkpoints/";
  const PlanModel gguf = read_model(checkpoints + "llama3.1.gguf"), folder = read_model(checkpoints + "llama3.1");
  CHECK(models::parameter_count(gguf.config) == models::parameter_count(folder.config));
  CHECK(gguf.config.max_length == folder.config.max_length);
  CHECK(gguf.config.groups[0].rope_frequencies.empty());
}
