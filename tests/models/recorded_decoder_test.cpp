// Tokens of a GPU, or of the emulator: recorded and replayed, against those that are queued op by op.
#include "models/generation/recorded_decoder.h"

#include <set>

#include "engine/device_stream.h"
#include "engine/error.h"
#include "engine/quantized/quantize.h"
#include "engine/transfer.h"
#include "models/costs.h"
#include "models/rope_cache.h"
#include "models/weights/sources.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace headroom::models {
namespace {

using testing::contains;

constexpr engine::Device cuda{engine::Device::Kind::cuda, 0};
constexpr int64_t vocab = 37;

bool is_absent() {
  if (engine::has_device(cuda.kind)) return false;
  testing::skip("no CUDA device");
  return true;
}

TransformerConfig decoder(Positions positions) {
  TransformerConfig c;
  c.layers = 2;
  c.width = 32;
  c.groups = {{.heads = 4, .qk_dim = 8, .v_dim = 4, .kv_heads = 2}};
  c.max_length = 200;
  c.vocab = c.output_dim = vocab;
  c.causal = true;
  c.positions = positions;
  c.ffn_width = 32;
  c.init.embedding_std = 1;  // so that what follows depends on the token
  return c;
}

/// On the context's device, its projections in blocks of 8 bits where these are wanted; keys then have a large channel.
Transformer made(const TransformerConfig& config, bool has_blocks) {
  engine::Rng rng(11);
  if (!has_blocks) return {config, rng};
  const engine::Device there = engine::context().device;
  const engine::DeviceScope scope(engine::cpu);
  const Transformer drawn(config, rng);
  NamedTensors dense;
  std::vector<std::pair<std::string, engine::QuantizedMatrix>> blocks;
  for (const Parameter& p : drawn.parameters()) {
    if (p.name.find("k_norm") != std::string::npos) p.var.value().mutable_data<float>()[5] = 30;
    const bool is_matrix = p.var.shape().rank() == 2 && p.name.find("blocks.") == 0;
    if (is_matrix) blocks.emplace_back(p.name, engine::quantize(p.var.value(), engine::BlockFormat::q8_0).to(there));
    else dense.emplace_back(p.name, p.var.value());
  }
  REQUIRE_FALSE(blocks.empty());
  NamedWeights source(dense, {.is_trained = none_trained});
  for (auto& [name, matrix] : blocks) source.add(name, std::move(matrix));
  const engine::DeviceScope back(there);
  return {config, source};
}

struct Course {
  std::vector<int64_t> tokens;
  std::vector<std::vector<float>> logits;
  int64_t recordings = 0, row_bytes = 0;  ///< of a token in one layer's cache
  std::vector<std::string> notes;
};

/// Decodes a prompt and then that many tokens.
Course decoded(const TransformerConfig& config, bool has_blocks, const SamplingOptions& options, int64_t prompt,
               int64_t count, bool records, const CacheTypes& types = {}, engine::Device device = cuda) {
  const engine::DeviceStream stream(device);
  const engine::StreamScope on_stream(stream.handle());
  const engine::DeviceScope scope(device);
  const Transformer model = made(config, has_blocks);
  ModelCache state(config, true, types);
  Sampler sampler(options);
  Course out;
  RecordedDecoder recorded(model, [&](const std::string& line) { out.notes.push_back(line); });
  std::vector<int64_t> ids(static_cast<size_t>(prompt));
  for (int64_t i = 0; i < prompt; ++i) ids[static_cast<size_t>(i)] = (7 * i + 3) % vocab;
  Tensor input = Tensor::from({1, prompt}, ids);
  bool was_recorded = false;
  for (int64_t i = 0; i < count; ++i) {
    const TokenDraw draw = sampler.draw();
    std::optional<int64_t> id;
    if (records && i > 0 && recorded.is_possible()) id = recorded.next(out.tokens.back(), state, draw);
    if (id) {
      out.logits.push_back(recorded.logits().to_vector<float>());
      out.recordings += static_cast<int64_t>(recorded.is_recorded() && !was_recorded);
      was_recorded = recorded.is_recorded();
    } else {
      const Tensor logits = model.decode(input, state, {}, 1).reshape({vocab});
      out.logits.push_back(logits.to_vector<float>());
      id = static_cast<int64_t>(engine::choose_token(logits, draw.filter, draw.key).item());
    }
    REQUIRE(*id >= 0);
    out.tokens.push_back(*id);
    input = Tensor::from<int64_t>({1, 1}, {*id});
    CHECK(state.offset() == prompt + i);
  }
  const Tensor keys = state.layer(0)[0].keys(), values = state.layer(0)[0].values();
  CHECK(keys.device() == device);
  out.row_bytes = (keys.dim(2) * keys.dim(3) + values.dim(2) * values.dim(3)) * engine::size_of(keys.dtype());
  return out;
}

/// The logits of a text whose keys and values are rounded as a cache would.
std::vector<double> rounded(const TransformerConfig& config, const CacheTypes& types, engine::Device device) {
  const engine::DeviceScope scope(device);
  const autograd::NoGrad no_grad;
  const Tensor ids = Tensor::from<int64_t>({1, 9}, {1, 5, 2, 7, 10, 3, 3, 0, 6});
  return made(config, true).forward(ids, {.rounded_cache = types}).value().to_vector<double>();
}

void check_same(const Course& queued, const Course& recorded) {
  CHECK(queued.tokens == recorded.tokens);
  for (size_t i = 0; i < queued.logits.size(); ++i)
    if (queued.logits[i] != recorded.logits[i]) FAIL("the logits of token " << i << " differ");
}

}  // namespace

TEST_CASE("a recorded token is the queued one, while the caches grow, for every kind of positions", "[generation]") {
  if (is_absent()) return;
  const SamplingOptions greedy, sampled{.temperature = 1.1, .top_k = 20, .top_p = 0.95, .seed = 5};
  for (const Positions positions : {Positions::rope, Positions::learned, Positions::alibi}) {
    INFO(name_of(positions));
    const bool is_long = positions == Positions::rope;
    // Caches for 64, 128 and 256 tokens; or from 60 tokens on over the first of these bounds.
    const int64_t prompt = is_long ? 5 : 60, count = is_long ? 160 : 12;
    const SamplingOptions& options = positions == Positions::learned ? greedy : sampled;
    const Course queued = decoded(decoder(positions), false, options, prompt, count, false);
    const Course recorded = decoded(decoder(positions), false, options, prompt, count, true);
    check_same(queued, recorded);
    CHECK(recorded.recordings == (is_long ? 3 : 2));
    CHECK(recorded.notes.empty());
    CHECK(queued.recordings == 0);
    CHECK(std::set<int64_t>(queued.tokens.begin(), queued.tokens.end()).size() > 2);
  }
}

TEST_CASE("a recorded token of quantised weights is the queued one", "[generation]") {
  if (is_absent()) return;
  TransformerConfig config = decoder(Positions::rope);
  config.norm = Norm::rms_norm;
  config.activation = Activation::swiglu;
  config.groups[0].v_dim = 8;  // rows of whole blocks
  for (const engine::Activations activations : {engine::Activations::exact, engine::Activations::int8}) {
    const engine::ActivationsScope scope(activations);
    check_same(decoded(config, true, {}, 3, 12, false), decoded(config, true, {}, 3, 12, true));
  }
}

TEST_CASE("a token recorded with a cache in fewer bits is the queued one, and the CPU's", "[generation]") {
  if (is_absent()) return;
  TransformerConfig config = decoder(Positions::rope);
  config.groups = {{.heads = 4, .qk_dim = 32, .v_dim = 64, .kv_heads = 2}};
  config.qk_norm = true;
  const engine::ActivationsScope scope(engine::Activations::exact);
  config.groups[0].key_cache = engine::BlockFormat::q8_0, config.groups[0].value_cache = engine::BlockFormat::q4_0;
  std::vector<CacheTypes> all{named_cache_types()};
  for (const engine::BlockFormat format : engine::packed_formats) all.push_back(format);
  for (const CacheTypes& types : all) {
    INFO((types.all ? engine::traits_of(*types.all).name : "named"));
    const Course queued = decoded(config, true, {}, 60, 12, false, types);
    const Course recorded = decoded(config, true, {}, 60, 12, true, types);
    check_same(queued, recorded);
    CHECK(recorded.recordings == 2);  // the cache grows at 64 tokens
    CHECK(recorded.notes.empty());
    const Course host = decoded(config, true, {}, 60, 12, false, types, engine::cpu);
    CHECK(recorded.tokens == host.tokens);
    for (size_t i = 0; i < host.logits.size(); ++i)
      for (size_t j = 0; j < host.logits[i].size(); ++j)
        CHECK(recorded.logits[i][j] == Approx(host.logits[i][j]).margin(5e-3));
    const std::vector<double> got = rounded(config, types, cuda), want = rounded(config, types, engine::cpu);
    for (size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(5e-3));
    CHECK(recorded.row_bytes * config.layers == cache_bytes(config, types));
    CHECK(recorded.row_bytes == host.row_bytes);
  }
}

TEST_CASE("where a token cannot be recorded one line says so, and it is queued", "[generation]") {
  if (is_absent()) return;
  TransformerConfig config = decoder(Positions::learned);
  config.groups = {{.heads = 1, .qk_dim = 520, .v_dim = 4}};  // wider than the kernel of few queries
  const Course queued = decoded(config, false, {}, 3, 4, false), recorded = decoded(config, false, {}, 3, 4, true);
  check_same(queued, recorded);
  CHECK(recorded.recordings == 0);
  REQUIRE(recorded.notes.size() == 1);
  CHECK_THAT(recorded.notes[0], contains("tokens are not recorded but queued op by op: "));
  CHECK_THAT(recorded.notes[0], contains("cached_attention: no f32 kernel on cuda for this problem"));
}

TEST_CASE("a recorded token has no place behind the last position", "[generation]") {
  if (is_absent()) return;
  TransformerConfig config = decoder(Positions::learned);
  config.max_length = 8;
  CHECK_THROWS_WITH(decoded(config, false, {}, 3, 7, true), contains("sequences of 9 are longer than max_length"));
}

TEST_CASE("a table of turns that one stream has made is whole for every other") {
  if (is_absent()) return;
  const auto frequencies = [](int64_t) { return std::vector<double>{1, 0.1, 0.01}; };
  const engine::DeviceStream one(cuda), two(cuda);
  for (int round = 0; round < 4; ++round) {
    const engine::DeviceScope there(cuda);
    const RopeTurns turns(frequencies, 64, false, engine::DType::f32);
    {
      const engine::StreamScope scope(one.handle());
      turns.rows(0, 64);
    }
    const engine::StreamScope scope(two.handle());
    const std::vector<float> got = turns.rows(0, 64).angles.to_vector<float>();
    const engine::DeviceScope here(engine::cpu);
    CHECK(got == RopeTurns(frequencies, 64, false, engine::DType::f32).rows(0, 64).angles.to_vector<float>());
  }
}

}  // namespace headroom::models
