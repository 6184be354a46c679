// Steps of a Transformer's training on a GPU, or on the emulator, with gradients beside the backward pass: recorded and
// replayed, against those that are queued op by op.
#include "autograd/ops.h"
#include "autograd/optim/optimizer.h"
#include "engine/recording.h"
#include "engine/transfer.h"
#include "models/transformer.h"
#include "tests/support/catch.h"

namespace headroom::models {
namespace {

constexpr engine::Device cuda{engine::Device::Kind::cuda, 0};
constexpr int64_t vocab = 67, sequences = 4, length = 8;

/// The weights of each parameter after 12 steps.
std::vector<std::vector<float>> trained(const TransformerConfig& config, bool bf16, bool records) {
  const engine::DeviceStream stream(cuda);
  const engine::StreamScope on_stream(stream.handle());
  const engine::DeviceScope on_device(cuda);
  engine::Rng rng(5);
  const Transformer model(config, rng);
  const autograd::ParameterArena arena(model.parameters(), {.device = cuda, .has_copies = bf16});
  const auto optimizer = autograd::make_optimizer({.kind = "adamw", .lr = 1e-2}, arena);
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i <= sequences * length; ++i) tokens.push_back(i * i % vocab);
  const auto from = [&](int64_t first) {
    const auto begin = tokens.begin() + first;
    return Tensor::from<int64_t>({sequences, length}, {begin, begin + sequences * length}).to(cuda);
  };
  const Tensor input = from(0), target = from(1);  // (4, 8)
  const auto step = [&] {
    arena.zero_grad();
    autograd::cross_entropy(model.forward(input), target).backward();
    optimizer->step(1e-2);
  };
  engine::Recorder recorder(cuda);
  for (int i = 0; i < 12; ++i)  // on the emulator each replay has an order of its own
    if (records) recorder.run(step);
    else step();
  std::vector<std::vector<float>> weights;
  for (const auto& [name, values] : arena.named_values()) weights.push_back(values.to_vector<float>());
  return weights;
}

}  // namespace

TEST_CASE("gradients beside the backward pass have the bits of a step that is queued op by op") {
  if (!engine::has_device(cuda.kind)) return testing::skip("no CUDA device");
  TransformerConfig tied;
  tied.layers = 2;
  tied.width = 16;
  tied.groups = {{.heads = 2, .qk_dim = 8, .v_dim = 8}};
  tied.max_length = length;
  tied.causal = tied.tied = true;
  tied.vocab = tied.output_dim = vocab;
  TransformerConfig rest = tied;
  rest.positions = Positions::rope;
  rest.norm = Norm::rms_norm;
  rest.activation = Activation::swiglu;
  rest.tied = false;
  rest.checkpoint_blocks = true;
  for (const TransformerConfig& config : {tied, rest})
    for (const bool bf16 : {false, true}) {
      CAPTURE(config.tied, bf16);
      CHECK((trained(config, bf16, true) == trained(config, bf16, false)));
    }
}

}  // namespace headroom::models
