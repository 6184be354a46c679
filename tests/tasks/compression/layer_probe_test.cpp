#include "tasks/compression/layer_probe.h"

#include "engine/error.h"
#include "models/tokenizers/loaders.h"
#include "tasks/measure/perplexity.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/error_of.h"

namespace headroom::tasks {
namespace {

using testing::error_of;

TokenBatch texts() {
  const std::vector<int32_t> ids = testing::some_tokens(24);
  return {{ids.begin(), ids.begin() + 12}, {ids.begin() + 12, ids.end()}};
}

}  // namespace

TEST_CASE("the KL divergence from the first changed layer on is that of the whole model", "[layer probe]") {
  const auto files = models::ModelFiles::open(testing::checkpoints() / "llama2-gqa");
  const auto base = files->load({.keep = models::Keep::computed});
  const LayerProbe probe(*base, texts());
  CHECK(probe.tokens() == 24);
  const models::TransformerConfig& config = base->config();
  CHECK(probe.kl({config, {}}, 0) == Approx(0).margin(1e-7));

  const int64_t last = config.layers - 1;
  const std::string name = fmt::format("blocks.{}.attention.0.k_proj.weight", last);
  const models::ModelEdit edit{
      config, {{name, Tensor::zeros({config.groups[0].key_value_heads() * config.groups[0].qk_dim, config.width})}}};
  const double from_last = probe.kl(edit, last);
  CHECK(from_last > 1e-4);
  CHECK(probe.kl(edit, 0) == Approx(from_last));

  // The same by measure_perplexity(), which leaves the last token of each window out.
  const auto edited = models::load(*base, edit);
  double sum = 0;
  for (const std::vector<int64_t>& text : texts()) {
    std::vector<int32_t> tokens(text.begin(), text.end());
    tokens.push_back(0);
    const auto length = static_cast<int64_t>(tokens.size());
    const auto measured = measure_perplexity(*edited, *models::make_byte_tokenizer(), tokens,
                                             {.context = length, .stride = length}, base.get());
    sum += measured.against->kl_mean * static_cast<double>(measured.tokens_scored);
  }
  CHECK(from_last == Approx(sum / 24));
}

TEST_CASE("a layer probe needs texts and a layer that is there", "[layer probe]") {
  const auto base =
      models::ModelFiles::open(testing::checkpoints() / "llama2-gqa")->load({.keep = models::Keep::computed});
  CHECK(error_of([&] { LayerProbe(*base, {}); }) == "layer probe: no text");
  CHECK(error_of([&] { LayerProbe(*base, {{}}); }) == "entering states: a text is empty");
  const LayerProbe probe(*base, texts());
  CHECK(error_of([&] {
          (void)probe.kl({base->config(), {}}, base->config().layers);
        }) == fmt::format("layer probe: layer {} of {}", base->config().layers, base->config().layers));
}

}  // namespace headroom::tasks
