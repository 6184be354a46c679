// Builds a Transformer whose two layers have different heads from a safetensors file, generates with a key-value cache,
// and compares what it saw with one pass over the whole text.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "headroom/models/model_cache.h"
#include "headroom/models/transformer.h"
#include "headroom/models/weights/sources.h"

using namespace headroom;

int main() {
  models::TransformerConfig config;
  config.layers = 2, config.width = 48, config.vocab = 64;
  config.tied = config.causal = true;
  config.unequal_layers = {
      {.groups = {{.heads = 6, .qk_dim = 8, .v_dim = 8, .kv_heads = 2}}, .ffn_width = 96},
      {.groups = {{.heads = 2, .qk_dim = 4, .v_dim = 16}, {.heads = 1, .qk_dim = 32, .v_dim = 16}}, .ffn_width = 64}};
  config.positions = models::Positions::rope;
  engine::Rng rng(0);
  // The weights of a model that is drawn, as there is no trained one here.
  models::write_safetensors("model.safetensors", models::Transformer(config, rng).weights());

  models::SafetensorsWeights weights("model.safetensors", {.is_trained = models::none_trained});
  const models::Transformer model(config, weights);
  models::ModelCache state(config);
  std::vector<int64_t> text{7, 1, 12}, next = text;  // the prompt at once, then one token after the other
  std::vector<float> seen;
  while (text.size() < 40) {
    const auto n = int64_t(next.size());
    const auto logits = model.decode(engine::Tensor::from({1, n}, next), state).to_vector<float>();  // (1, n, vocab)
    seen.insert(seen.end(), logits.begin(), logits.end());
    next = {std::max_element(logits.end() - config.vocab, logits.end()) - (logits.end() - config.vocab)};
    text.push_back(next[0]);
  }
  const auto whole = model.forward(engine::Tensor::from({1, int64_t(text.size())}, text)).value().to_vector<float>();
  float worst = 0;
  for (size_t i = 0; i < seen.size(); ++i) worst = std::max(worst, std::abs(seen[i] - whole[i]));
  std::printf("%d tokens in the cache, largest difference to the full pass %.1e\n", int(state.length()), worst);
  return worst <= 1e-5f ? 0 : 1;
}
