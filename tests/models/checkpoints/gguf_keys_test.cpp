// What of a GGUF file's metadata keeps its model from being run.
#include <filesystem>

#include "models/checkpoints/model_files.h"
#include "models/gguf/gguf.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

GgufValue fraction(double value) { return {GgufValueType::f32, false, std::vector<double>{value}}; }
GgufValue whole(int64_t value) { return {GgufValueType::u32, false, std::vector<int64_t>{value}}; }
GgufValue text(const std::string& value) { return {GgufValueType::string, false, std::vector<std::string>{value}}; }

/// What a small llama's file says with these keys besides its own.
ModelDescription described(const GgufPairs& more) {
  const testing::TemporaryFolder folder;
  const GgufFile file(testing::source_root() + "/tests/models/pretrained/checkpoints/llama2-gqa.gguf");
  GgufPairs pairs;
  for (const auto& [key, value] : file.metadata().all())
    if (key != "general.alignment") pairs.emplace_back(key, value);
  pairs.insert(pairs.end(), more.begin(), more.end());
  StoredTensors tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, file.read(name));
  write_gguf(folder / "m.gguf", pairs, tensors);
  return ModelFiles::open(folder / "m.gguf")->description();
}

}  // namespace

TEST_CASE("a GGUF key that changes what is computed keeps a model from being run", "[gguf]") {
  const auto refused = [](const char* name, const GgufValue& value) {
    return described({{std::string("llama.") + name, value}}).not_run;
  };
  using Reasons = std::vector<std::string>;
  CHECK(described({}).not_run == Reasons{});
  CHECK(refused("logit_scale", fraction(0.5)) == Reasons{"llama.logit_scale: only 1 is computed"});
  CHECK(refused("logit_scale", fraction(1)) == Reasons{});
  CHECK(refused("expert_count", whole(8)) == Reasons{"llama.expert_count: only 0 is computed"});
  CHECK(refused("expert_count", whole(0)) == Reasons{});
  CHECK(refused("expert_count", text("0")) == Reasons{"llama.expert_count: only 0 is computed"});
  CHECK(refused("final_logit_softcapping", fraction(30)).size() == 1);
  CHECK(refused("rope.scaling.attn_factor", fraction(0.1)).size() == 1);
  CHECK(refused("rope.scaling.original_context_length", whole(64)) == Reasons{});
  CHECK(refused("attention.scale", fraction(0.1)) ==
        Reasons{"'llama.attention.scale': not known here, and may change what is computed"});
  CHECK(described({{"qwen2.attention.scale", fraction(0.1)}, {"general.anything", whole(1)}}).not_run == Reasons{});
  GgufPairs many;
  for (int i = 0; i < 1000; ++i) many.emplace_back("llama.x" + std::to_string(i), whole(i));
  CHECK(described(many).not_run.size() == 6);
  CHECK(described(many).not_run.back() == "995 more such keys");
}

TEST_CASE("a GGUF file's factor of rope without a kind is linear", "[gguf]") {
  const RopeScaling scaling = described({{"llama.rope.scaling.factor", fraction(4)}}).config.rope_scaling;
  CHECK(scaling.kind == RopeScalingKind::linear);
  CHECK(scaling.factor == 4);
  const ModelDescription none =
      described({{"llama.rope.scaling.factor", fraction(4)}, {"llama.rope.scaling.type", text("none")}});
  CHECK(none.config.rope_scaling.kind == RopeScalingKind::none);
}

}  // namespace headroom::models
