// Parameters and FLOPs against counts made by hand, and the workloads against PyTorch's own counts of the same models.
#include "engine/rng.h"
#include "models/transformer.h"
#include "tests/support/catch.h"

namespace headroom::models {
namespace {

struct Workload {
  const char* name;
  TransformerConfig config;
  int64_t parameters;  ///< counted by PyTorch
};

TransformerConfig text(int64_t layers, int64_t width, HeadGroup group, int64_t length, int64_t ffn, int64_t vocab) {
  TransformerConfig c;
  c.layers = layers;
  c.width = width;
  c.groups = {group};
  c.max_length = length;
  c.ffn_width = ffn;
  c.vocab = c.output_dim = vocab;
  return c;
}

TransformerConfig vectors(int64_t layers, HeadGroup group, int64_t length, int64_t dim, Positions positions) {
  TransformerConfig c = text(layers, 256, group, length, 1024, 0);
  c.input_dim = c.output_dim = dim;
  c.positions = positions;
  return c;
}

TransformerConfig classifier(int64_t head_dim) {
  TransformerConfig c = text(6, 256, {8, head_dim, head_dim}, 256, 1024, 1000);
  c.output_dim = 10;
  c.pooling = Pooling::mean;
  return c;
}

TransformerConfig tied(TransformerConfig c) {
  c.tied = true;
  return c;
}

TransformerConfig gated(TransformerConfig c) {
  c.activation = Activation::swiglu;
  c.norm = Norm::rms_norm;
  return c;
}

std::vector<Workload> workloads() {
  return {{"ngram", vectors(1, {32, 8, 8}, 64, 8, Positions::sinusoidal), 794632},
          {"nanogpt-cpu", tied(text(4, 128, {4, 32, 32}, 64, 512, 65)), 809856},
          {"ntp-h4", text(3, 128, {4, 32, 32}, 256, 512, 65), 644545},
          {"ntp-h32", text(3, 128, {32, 4, 4}, 256, 512, 65), 644545},
          {"mlm-h8", text(3, 256, {8, 32, 32}, 256, 1024, 66), 2469186},
          {"induction", vectors(2, {8, 32, 32}, 128, 10, Positions::learned), 1618186},
          {"eff-d4", classifier(4), 3682890},
          {"eff-d16", classifier(16), 4274442},
          {"eff-d64", classifier(64), 6640650},
          {"eff-d128", classifier(128), 9795594},
          {"gpt-wikitext", tied(gated(text(6, 512, {8, 64, 64}, 256, 1365, 50257))), 44772348},
          {"instruction-12l", tied(text(12, 512, {8, 64, 64}, 256, 2048, 50257)), 63692288}};
}

/// Every part that a parameter can be in, with widths that share no factor.
TransformerConfig uneven() {
  TransformerConfig c;
  c.layers = 2;
  c.width = 7;
  c.groups = {{2, 3, 5, 0}, {4, 2, 1, 2}};
  c.max_length = 11;
  c.vocab = 13;
  c.output_dim = 17;
  c.ffn_width = 19;
  return c;
}

}  // namespace

TEST_CASE("the workloads have as many parameters as PyTorch's", "[models]") {
  for (const Workload& w : workloads()) {
    INFO(w.name);
    CHECK(parameter_count(w.config) == w.parameters);
  }
}

TEST_CASE("parameters, counted by hand", "[models]") {
  // Q, K, V of group 0: 7 · (6 + 6 + 10) + 22 biases; of group 1: 7 · (8 + 4 + 2) + 14; O: 14 · 7 + 7.
  const int64_t attention = 154 + 22 + 98 + 14 + 98 + 7, ffn = 7 * 19 + 19 + 19 * 7 + 7;
  const int64_t ends = 13 * 7 + 17 * 7 + 17;
  TransformerConfig c = uneven();
  CHECK(parameter_count(c) == 2 * (attention + ffn + 2 * 14) + ends + 11 * 7 + 14);
  c.positions = Positions::alibi;  // one slope per head
  c.norm_place = NormPlace::post;  // no final norm
  CHECK(parameter_count(c) == 2 * (attention + 6 + ffn + 2 * 14) + ends);
  c.norm = Norm::none;
  c.attention_bias = c.ffn_bias = false;
  c.activation = Activation::swiglu;
  CHECK(parameter_count(c) == 2 * (154 + 98 + 98 + 6 + 3 * 7 * 19) + ends);
  c.positions = Positions::sinusoidal;
  c.ffn_width = 0;
  c.norm = Norm::rms_norm;
  CHECK(parameter_count(c) == 2 * (154 + 98 + 98 + 7) + ends);
  c.readout_width = 3;
  CHECK(parameter_count(c) == 2 * (154 + 98 + 98 + 7) + 13 * 7 + 3 * 7 + 3 + 17 * 3 + 17);
}

TEST_CASE("a model has as many parameters as its config counts", "[models]") {
  std::vector<TransformerConfig> configs{uneven(), tied(uneven()), gated(uneven())};
  configs[1].output_dim = 0;
  for (const Positions positions : {Positions::none, Positions::sinusoidal, Positions::alibi}) {
    configs.push_back(uneven());
    configs.back().positions = positions;
    configs.back().final_norm = false;
  }
  configs.push_back(uneven());
  configs.back().norm_place = NormPlace::post;
  configs.push_back(uneven());
  configs.back().ffn_width = 0;
  configs.back().attention_bias = false;
  configs.push_back(uneven());
  configs.back().readout_width = 3;
  for (const TransformerConfig& c : configs) {
    engine::Rng rng(1);
    const Transformer model(c, rng);
    INFO(model.describe());
    CHECK(model.parameter_count() == parameter_count(c));
  }
}

TEST_CASE("FLOPs of a forward pass, counted by hand", "[models]") {
  // ngram, multiply-adds per token: input 8·256; Q, K, V, O 4·256²; scores and values 2·64·256; FFN 2·256·1024;
  // readout.
  const double ngram = 2048 + 262144 + 32768 + 524288 + 2048;
  CHECK(forward_flops(workloads()[0].config, 128, 64) == 2 * 128 * 64 * ngram);
  // An embedding multiplies nothing; a tied readout does: 65 · 128.
  const double nanogpt = 4 * (4 * 128 * 128 + 2 * 64 * 128 + 2 * 128 * 512) + 65 * 128;
  CHECK(forward_flops(workloads()[1].config, 12, 64) == 2 * 12 * 64 * nanogpt);
  // One readout per sequence; the heads' total width 8·4 is not D.
  const double eff = 6 * (4 * 256 * 32 + 2 * 256 * 32 + 2 * 256 * 1024);
  CHECK(forward_flops(classifier(4), 16, 256) == 2 * (16 * 256 * eff + 16 * 256 * 10));
  // swiglu has three matrices.
  const double gpt = 6 * (4 * 512 * 512 + 2 * 256 * 512 + 3 * 512 * 1365) + 50257.0 * 512;
  CHECK(forward_flops(workloads()[10].config, 8, 256) == 2 * 8 * 256 * gpt);
  // Unequal groups: projections 350 as in the parameters, scores 5·(2·(3 + 5) + 4·(2 + 1)).
  const double grouped = 2 * (350 + 5 * 28 + 2 * 7 * 19) + 7 * 17;
  CHECK(forward_flops(uneven(), 3, 5) == 2 * 3 * 5 * grouped);
  CHECK(forward_flops(uneven(), 0, 5) == 0);
  TransformerConfig two_layers = uneven();
  two_layers.readout_width = 3;
  CHECK(forward_flops(two_layers, 3, 5) == 2 * 3 * 5 * (grouped - 7 * 17 + 3 * (7 + 17)));
}

}  // namespace headroom::models
