// A few steps of training are a pure function of the seed: not of the threads, of the run, or of checkpointing. And
// they ask the system for memory only at first.
#include <thread>

#include "autograd/ops.h"
#include "autograd/optim/optimizer.h"
#include "engine/allocator.h"
#include "engine/context.h"
#include "engine/parallel.h"
#include "models/transformer.h"
#include "tests/support/catch.h"

namespace headroom::models {
namespace {

TransformerConfig alibi_decoder() {
  TransformerConfig c;
  c.layers = 2;
  c.width = 40;
  c.groups = {{.heads = 3, .qk_dim = 8, .v_dim = 5}, {.heads = 4, .qk_dim = 2, .v_dim = 7, .kv_heads = 2}};
  c.max_length = 70;
  c.vocab = 31;
  c.tied = true;
  c.causal = true;
  c.positions = Positions::alibi;
  c.ffn_width = 150;
  c.dropout = 0.1;
  return c;
}

TransformerConfig post_norm() {
  TransformerConfig c = alibi_decoder();
  c.norm_place = NormPlace::post;
  c.norm = Norm::rms_norm;
  c.activation = Activation::swiglu;
  c.positions = Positions::learned;
  return c;
}

/// Steps on random tokens (B 9, T 70): large enough that every op has work for three threads.
class Training {
 public:
  Training(const TransformerConfig& config, uint64_t seed)
      : rng_(seed),
        model_(config, rng_),
        arena_(model_.parameters()),
        optimizer_(autograd::make_optimizer({}, arena_)) {}

  void step() {
    const Shape shape{9, 70};
    const int64_t vocab = model_.config().vocab;
    const Tensor x = engine::random_integers(shape, 0, vocab, rng_.take("data", shape.numel()));
    const Tensor y = engine::random_integers(shape, 0, vocab, rng_.take("data", shape.numel()));
    arena_.zero_grad();
    autograd::cross_entropy(model_.forward(x, {.training = true, .rng = &rng_}), y).backward();
    optimizer_->step(1e-2, 1.0);
  }
  std::vector<float> weights() const { return arena_.values().to_vector<float>(); }

 private:
  engine::Rng rng_;
  Transformer model_;
  autograd::ParameterArena arena_;
  std::unique_ptr<autograd::Optimizer> optimizer_;
};

/// All weights after `steps` updates.
std::vector<float> train(const TransformerConfig& config, uint64_t seed, int threads, int steps) {
  const engine::ThreadScope scope(threads);
  Training training(config, seed);
  for (int i = 0; i < steps; ++i) training.step();
  return training.weights();
}

}  // namespace

TEST_CASE("the same seed trains to the same bits, on any number of threads and in every run", "[models]") {
  const std::vector<float> one = train(alibi_decoder(), 7, 1, 4);
  CHECK((train(alibi_decoder(), 7, 1, 4) == one));
  CHECK((train(alibi_decoder(), 7, 2, 4) == one));
  CHECK((train(alibi_decoder(), 7, 3, 4) == one));
  CHECK_FALSE((train(alibi_decoder(), 8, 1, 4) == one));
}

TEST_CASE("post-norm, RMS norm and swiglu train to the same bits on any number of threads", "[models]") {
  const std::vector<float> one = train(post_norm(), 7, 1, 2);
  CHECK((train(post_norm(), 7, 2, 2) == one));
  CHECK((train(post_norm(), 7, 3, 2) == one));
}

TEST_CASE("checkpointed blocks train to the same bits", "[models]") {
  for (TransformerConfig c : {alibi_decoder(), post_norm()}) {
    const std::vector<float> kept = train(c, 7, 2, 3);
    c.checkpoint_blocks = true;
    CHECK((train(c, 7, 2, 3) == kept));
  }
}

TEST_CASE("two models train in two threads, and one serves two, with the bits of one after the other", "[models]") {
  const std::vector<float> first = train(alibi_decoder(), 7, 2, 2), second = train(post_norm(), 8, 2, 2);
  std::vector<float> in_thread;
  std::thread other([&] { in_thread = train(post_norm(), 8, 2, 2); });
  const std::vector<float> here = train(alibi_decoder(), 7, 2, 2);
  other.join();
  CHECK((here == first));
  CHECK((in_thread == second));

  engine::Rng rng(3);
  TransformerConfig config = alibi_decoder();
  config.positions = Positions::rope;
  config.groups = {{.heads = 2, .qk_dim = 8, .v_dim = 5}};
  const Transformer model(config, rng);
  const Tensor x = engine::random_integers({2, 70}, 0, 31, rng.take("data", 140));
  // The shorter input first: the other thread makes the shared table of positions grow.
  const auto passes = [&] {
    const autograd::NoGrad no_grad;
    std::vector<float> all;
    for (const int64_t length : {5, 40, 70})
      for (const float y : model.forward(x.slice(1, 0, length)).value().to_vector<float>()) all.push_back(y);
    return all;
  };
  std::vector<float> there;
  std::thread reader([&] { there = passes(); });
  const std::vector<float> mine = passes();
  reader.join();
  CHECK((mine == there));
  CHECK((mine == passes()));
}

TEST_CASE("a step moves the weights, and dropout matters", "[models]") {
  TransformerConfig c = alibi_decoder();
  const std::vector<float> start = train(c, 7, 2, 0), end = train(c, 7, 2, 1);
  REQUIRE(start.size() == end.size());
  size_t moved = 0;
  for (size_t i = 0; i < start.size(); ++i) moved += start[i] != end[i] ? 1 : 0;
  CHECK(moved > start.size() * 9 / 10);
  c.dropout = 0;
  CHECK_FALSE((train(c, 7, 2, 1) == end));
}

TEST_CASE("training asks the system for no memory after its second step", "[models]") {
  for (const int threads : {1, 2}) {
    const engine::ThreadScope scope(threads);
    for (TransformerConfig c : {alibi_decoder(), post_norm()}) {
      c.checkpoint_blocks = threads == 2;
      engine::empty_cache();
      Training training(c, 7);
      training.step();
      training.step();
      const int64_t before = engine::allocator_stats().system_allocations;
      for (int i = 0; i < 3; ++i) training.step();
      CHECK(engine::allocator_stats().system_allocations == before);
    }
  }
}

}  // namespace headroom::models
