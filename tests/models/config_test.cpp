#include "models/validate.h"

#include <cmath>
#include <functional>
#include <limits>

#include "engine/error.h"
#include "tests/support/catch.h"

namespace headroom::models {
namespace {

TransformerConfig valid() {
  TransformerConfig c;
  c.groups = {{.heads = 4, .qk_dim = 8, .v_dim = 8}};
  c.vocab = 11;
  c.output_dim = 11;
  return c;
}

std::string refusal(const std::function<void(TransformerConfig&)>& change) {
  TransformerConfig c = valid();
  change(c);
  try {
    validate(c);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a valid config is accepted", "[models]") {
  CHECK_NOTHROW(validate(valid()));
  CHECK(refusal([](auto& c) { c.tied = true; }) == "accepted");
  CHECK(refusal([](auto& c) { c.tied = true, c.output_dim = 0; }) == "accepted");
  CHECK(refusal([](auto& c) { c.vocab = 0, c.input_dim = 3; }) == "accepted");
  CHECK(refusal([](auto& c) { c.groups = {{1, 1, 1, 0}, {6, 3, 80, 2}}; }) == "accepted");
  CHECK(refusal([](auto& c) { c.width = 1; }) == "accepted");
}

TEST_CASE("a bad config is refused with the field and what is allowed", "[models]") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CHECK(refusal([](auto& c) { c.layers = 0; }) == "model.layers is 0; it must be at least 1");
  CHECK(refusal([](auto& c) { c.layers = 65537; }) == "model.layers is 65537; at most 65536 are allowed");
  CHECK(refusal([](auto& c) { c.width = -3; }) == "model.width is -3; it must be at least 1");
  CHECK(refusal([](auto& c) { c.max_length = 0; }) == "model.max_length is 0; it must be at least 1");
  CHECK(refusal([](auto& c) { c.ffn_width = -1; }) == "model.ffn_width is -1; it must be at least 0");
  CHECK(refusal([](auto& c) { c.tied = true, c.readout_width = 4; }) ==
        "model.readout_width is 4; with model.tied it must be 0");
  CHECK(refusal([](auto& c) { c.groups.clear(); }) ==
        "model.groups is empty; it must hold at least one group of heads");
  CHECK(refusal([](auto& c) { c.groups[0].heads = 0; }) == "model.groups[0].heads is 0; it must be at least 1");
  CHECK(refusal([](auto& c) { c.groups[0].qk_dim = 0; }) == "model.groups[0].qk_dim is 0; it must be at least 1");
  CHECK(refusal([](auto& c) {
          c.groups.push_back({1, 1, 0, 0});
        }) == "model.groups[1].v_dim is 0; it must be at least 1");
  const std::string kv = "it must be 0 (as many as heads) or divide heads, which is 4";
  CHECK(refusal([](auto& c) { c.groups[0].kv_heads = 3; }) == "model.groups[0].kv_heads is 3; " + kv);
  CHECK(refusal([](auto& c) { c.groups[0].kv_heads = -2; }) == "model.groups[0].kv_heads is -2; " + kv);
  CHECK(refusal([](auto& c) { c.groups[0].kv_heads = 8; }) == "model.groups[0].kv_heads is 8; " + kv);
  CHECK(refusal([](auto& c) { c.positions = Positions::rope, c.groups[0].qk_dim = 3; }) ==
        "model.groups[0].qk_dim is 3, the head_dim of its 4 heads; rope needs it to be even, for it turns pairs of "
        "numbers");
  CHECK(refusal([](auto& c) { c.vocab = -1; }) == "model.vocab is -1; it must be at least 0");
  CHECK(refusal([](auto& c) { c.input_dim = 2; }) ==
        "model.vocab is 11 and model.input_dim is 2; exactly one of them must be above 0");
  CHECK(refusal([](auto& c) { c.vocab = 0; }) ==
        "model.vocab is 0 and model.input_dim is 0; exactly one of them must be above 0");
  CHECK(refusal([](auto& c) { c.output_dim = 0; }) == "model.output_dim is 0; it must be at least 1");
  CHECK(refusal([](auto& c) { c.tied = true, c.output_dim = 5; }) ==
        "model.output_dim is 5; with model.tied it must be 0 or model.vocab, which is 11");
  CHECK(refusal([](auto& c) { c.tied = true, c.vocab = 0, c.input_dim = 2; }) ==
        "model.tied is true; it needs model.vocab, for there is no token embedding to share");
  CHECK(refusal([](auto& c) { c.rope_base = 0; }) == "model.rope_base is 0; it must be finite and above 0");
  CHECK(refusal([](auto& c) { c.alibi_slope_first = -1; }) ==
        "model.alibi_slope_first is -1; it must be finite and above 0");
  CHECK(refusal([&](auto& c) { c.alibi_slope_last = inf; }) ==
        "model.alibi_slope_last is inf; it must be finite and above 0");
  CHECK(refusal([&](auto& c) { c.norm_eps = nan; }) == "model.norm_eps is nan; it must be finite and above 0");
  CHECK(refusal([](auto& c) { c.dropout = 1; }) == "model.dropout is 1; it must be at least 0 and below 1");
  CHECK(refusal([&](auto& c) { c.dropout = nan; }) == "model.dropout is nan; it must be at least 0 and below 1");
  CHECK(refusal([&](auto& c) { c.logit_scale = inf; }) == "model.logit_scale is inf; it must be finite");
  CHECK(refusal([](auto& c) { c.init.std = -1; }) == "model.init.std is -1; it must be finite and at least 0");
  CHECK(refusal([](auto& c) { c.init.embedding_std = -1; }) ==
        "model.init.embedding_std is -1; it must be finite and at least 0");
  CHECK(refusal([](auto& c) { c.init.position_std = -1; }) ==
        "model.init.position_std is -1; it must be finite and at least 0");
}

TEST_CASE("ranks, frequencies, scalings and unequal layers are checked by their fields", "[models]") {
  const std::string rank = "; it must be 0 (no factors) or at most the matrix's smaller side, which is ";
  CHECK(refusal([](auto& c) { c.groups[0].q_rank = 32; }) == "accepted");
  CHECK(refusal([](auto& c) { c.groups[0].q_rank = 33; }) == "model.groups[0].q_rank is 33" + rank + "32");
  CHECK(refusal([](auto& c) { c.groups[0].k_rank = -1; }) == "model.groups[0].k_rank is -1" + rank + "32");
  CHECK(refusal([](auto& c) { c.groups[0].kv_heads = 2, c.groups[0].v_rank = 17; }) ==
        "model.groups[0].v_rank is 17" + rank + "16");
  CHECK(refusal([](auto& c) { c.groups[0].q_head_rank = 17; }) == "model.groups[0].q_head_rank is 17" + rank + "8");
  CHECK(refusal([](auto& c) { c.groups[0].k_head_rank = c.groups[0].k_rank = 2; }) ==
        "model.groups[0].k_head_rank is 2; factors per head and of the whole matrix (2) exclude each other");
  CHECK(refusal([](auto& c) { c.groups[0].score_dim = 17; }) ==
        "model.groups[0].score_dim is 17; it must be 0 (no map) or at most qk_dim, which is 8");
  CHECK(refusal([](auto& c) { c.groups[0].kv_heads = 2, c.groups[0].joined_keys = 2, c.groups[0].score_dim = 17; }) ==
        "model.groups[0].score_dim is 17; it must be 0 (no map) or at most joined_keys times qk_dim, which is 8");
  CHECK(refusal([](auto& c) { c.groups[0].kv_heads = 2, c.groups[0].joined_keys = 2; }) ==
        "model.groups[0].joined_keys is 2; it must be 1, or with a score_dim divide the 2 query heads of a key");
  CHECK(refusal([](auto& c) { c.groups[0].joined_keys = 2, c.groups[0].score_dim = 8; }) ==
        "model.groups[0].joined_keys is 2; it must be 1, or with a score_dim divide the 1 query heads of a key");
  CHECK(refusal([](auto& c) { c.o_rank = 33; }) == "model.o_rank is 33" + rank + "32");
  CHECK(refusal([](auto& c) {
          c.groups[0].rope_frequencies = {1, 2, 3};
        }) ==
        "model.groups[0].rope_frequencies holds 3 frequencies; it must hold none or one for each pair of numbers of a "
        "head, qk_dim/2, which is 4");
  CHECK(refusal([](auto& c) {
          c.groups[0].rope_frequencies = {1, 2, 3, INFINITY};
        }) == "model.groups[0].rope_frequencies holds inf; each must be finite");
  CHECK(refusal([](auto& c) { c.rope_scaling = {.kind = RopeScalingKind::linear, .factor = 0}; }) ==
        "model.rope_scaling.factor is 0; it must be finite and above 0");
  CHECK(refusal([](auto& c) { c.rope_scaling = {.kind = RopeScalingKind::llama3, .low = 4, .high = 4}; }) ==
        "model.rope_scaling.high is 4; it must be above low, which is 4");
  const auto unequal = [](TransformerConfig& c) {
    c.layers = 2;
    c.unequal_layers = layers_of(c);
    c.groups.clear();
  };
  CHECK(refusal(unequal) == "accepted");
  CHECK(refusal([&](auto& c) { unequal(c), c.layers = 3; }) ==
        "model.unequal_layers holds 2 layers; model.layers is 3");
  CHECK(refusal([&](auto& c) {
          unequal(c), c.ffn_width = 4;
        }).find("with model.unequal_layers they must be left out") != std::string::npos);
  CHECK(refusal([&](auto& c) { unequal(c), c.unequal_layers[1].groups[0].heads = 0; }) ==
        "model.unequal_layers[1].groups[0].heads is 0; it must be at least 1");
  CHECK(refusal([&](auto& c) { unequal(c), c.unequal_layers[1].groups.clear(); }) == "accepted");
  CHECK(refusal([&](auto& c) {
          unequal(c);
          for (LayerConfig& layer : c.unequal_layers) layer.groups.clear();
        }) == "model.unequal_layers holds no group of heads; at least one layer must have one");
}

TEST_CASE("widths that no memory could hold are refused before anything overflows", "[models]") {
  const int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(refusal([&](auto& c) { c.width = most, c.ffn_width = most, c.layers = most; }) ==
        "model: these widths make 1.57e+57 parameters; at most 1e+12 are allowed");
  CHECK(refusal([&](auto& c) { c.groups = {{most, most, most, 0}}; }).find("parameters; at most") != std::string::npos);
}

}  // namespace headroom::models
