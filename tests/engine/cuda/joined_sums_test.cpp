// Gradients of norms and biases that one kernel adds at the end of backward(), and the sums that kernels leave on their
// way.
#include "engine/joined_sums.h"

#include <cmath>
#include <optional>

#include "autograd/ops.h"
#include "autograd/optim/arena.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/sum/sum.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/engine/cuda/gpu.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

namespace {

using namespace headroom;
using autograd::Var;
using engine::DType;
using engine::JoinedSums;
using engine::Shape;
using engine::Tensor;

using testing::gpu;
using testing::has_gpu;
using testing::relative_distance;

Tensor normal(const Shape& shape, uint64_t seed) {
  return engine::random_normal(shape, 0, 1, {seed, 0, 0}, DType::f32);
}

/// Two layers with a residual and dropout, whose norm's leaves are used twice, and a third norm.
struct Net {
  std::vector<autograd::Parameter> leaves;
  std::optional<autograd::ParameterArena> arena;
  engine::Dropout dropout;

  explicit Net(const autograd::ArenaOptions& options, double p) : dropout{p, {4, 2, 0}} {
    const std::vector<Shape> shapes{{40, 24}, {40}, {40}, {40}, {64, 40}, {64}, {40, 64}, {40}, {40}};
    for (const Shape& shape : shapes) {
      const Tensor start = normal(shape, 10 + leaves.size()).to(DType::bf16).to(DType::f32);
      leaves.push_back({std::to_string(leaves.size()), Var(start, true)});
    }
    arena.emplace(leaves, options);
  }
  const Var& at(size_t i) const { return leaves[i].var; }
  void backward(const Tensor& x, const Tensor& target) const {
    arena->zero_grad();
    const Var h = autograd::linear(Var(x), at(0), at(1));                      // (B, T, 40)
    const Var normed = autograd::layer_norm(h, at(2), at(3), 1e-5);            // (B, T, 40)
    const Var inner = autograd::gelu(autograd::linear(normed, at(4), at(5)));  // (B, T, 64)
    const auto [sum, again] =
        autograd::add_layer_norm(h, autograd::linear(inner, at(6), at(7)), at(2), at(3), 1e-5, dropout);
    autograd::mse(autograd::rms_norm(sum, at(8), 1e-5) + again, Var(target)).backward();
  }
};

}  // namespace

TEST_CASE("joined sums: more than one launch takes, each with the bits that it has alone") {
  if (!has_gpu()) return;
  std::vector<engine::ChunkSums> all;
  for (int64_t i = 0; i < 130; ++i)
    all.push_back({normal({1 + 7 * i % 71, 1 + 13 * i % 67}, static_cast<uint64_t>(i)).to(gpu),
                   Tensor::empty({1 + 13 * i % 67}, DType::f32, gpu)});
  JoinedSums::join(all, true);  // nothing lives here: at once
  for (const auto& [chunks, to] : all) {
    CHECK(relative_distance(to, engine::sum(chunks.to(engine::cpu).to(DType::f64), {0}, false)) < 1e-5);
    const Tensor alone = Tensor::empty(to.shape(), DType::f32, gpu);
    JoinedSums::join({{chunks, alone}}, false);
    CHECK(alone.to_vector<float>() == to.to_vector<float>());
  }
}

TEST_CASE("joined sums: wait for finish(), or are forgotten") {
  if (!has_gpu()) return;
  const Tensor chunks = Tensor::ones({3, 5}, DType::f32, gpu), to = Tensor::zeros({5}, DType::f32, gpu);
  const auto first = [&] { return to.to_vector<float>()[0]; };
  {
    const JoinedSums outer;
    {
      const JoinedSums inner;
      JoinedSums::join({{chunks, to}}, true);
    }
    CHECK(first() == 0);
    JoinedSums::finish();
    CHECK(first() == 3);
    JoinedSums::join({{Tensor::zeros({3, 5}, DType::f32, gpu), to}}, true);
  }
  JoinedSums::finish();
  CHECK(first() == 3);
}

TEST_CASE("joined sums: columns are of one tensor, until it is written, and are taken once") {
  const JoinedSums joined;
  CHECK(!JoinedSums::wants_columns());
  JoinedSums::want_columns(true);
  CHECK(JoinedSums::wants_columns());
  const Tensor x = Tensor::ones({4, 3}), chunks = Tensor::ones({2, 3});
  JoinedSums::keep_columns(x, chunks);
  CHECK(!JoinedSums::take_columns(x.clone()).defined());
  CHECK(JoinedSums::take_columns(x.reshape({2, 2, 3})).shares_storage(chunks));
  CHECK(!JoinedSums::take_columns(x).defined());
  JoinedSums::keep_columns(x, chunks);
  CHECK(!JoinedSums::take_columns(x.slice(0, 0, 2)).defined());
  engine::add_inplace(x, x.clone());
  CHECK(!JoinedSums::take_columns(x).defined());
}

TEST_CASE("joined sums: gradients of norms and biases in an arena, in f32 and with copies in bf16, as on the CPU") {
  if (!has_gpu()) return;
  // 2,010 rows: several chunks for each kernel, the last shorter.
  const Tensor x = normal({30, 67, 24}, 1).to(DType::bf16).to(DType::f32), target = normal({30, 67, 40}, 2);
  for (const double p : {0.0, 0.25}) {
    const Net here({}, p), there({.device = gpu}, p), copies({.device = gpu, .has_copies = true}, p);
    here.backward(x, target);
    for (int pass = 0; pass < 2; ++pass) {  // the second over gradients of the first
      there.backward(x.to(gpu), target.to(gpu));
      copies.backward(x.to(DType::bf16).to(gpu), target.to(gpu));
      for (size_t i = 0; i < here.leaves.size(); ++i) {
        CAPTURE(p, pass, i);
        CHECK(relative_distance(there.at(i).grad(), here.at(i).grad()) < 1e-5);
        CHECK(relative_distance(copies.at(i).grad(), here.at(i).grad()) < 0.03);
      }
    }
  }
}

TEST_CASE("joined sums: dropout within sums, norms and their gradients has the bits that it has alone") {
  if (!has_gpu()) return;
  const engine::Dropout dropout{0.25, {4, 2, 8}};
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t width : {13, 40}) {
      const auto leaf = [&](const Shape& shape, uint64_t seed) {
        return Var(normal(shape, seed).to(dtype).to(gpu), true);
      };
      const auto run = [&](bool is_apart) {
        const std::vector<Var> in{leaf({9, 7, width}, 1), leaf({9, 7, width}, 2), leaf({width}, 3), leaf({width}, 4),
                                  leaf({9, 7, width}, 5)};
        const auto dropped = [&](const Var& y) { return autograd::dropout(y, dropout.p, dropout.key); };
        const auto [sum, norm] = is_apart ? autograd::add_layer_norm(in[0], dropped(in[1]), in[2], in[3])
                                          : autograd::add_layer_norm(in[0], in[1], in[2], in[3], 1e-5, dropout);
        const Var branch = norm * in[4];
        const Var h = is_apart ? sum + dropped(branch) : autograd::add_dropped(sum, branch, dropout);
        const Var y = autograd::rms_norm(h, in[2]);
        y.backward(normal({9, 7, width}, 6).to(dtype).to(gpu));
        std::vector<std::vector<float>> out{y.value().to_vector<float>()};
        for (const Var& x : in) out.push_back(x.grad().to_vector<float>());
        return out;
      };
      CAPTURE(name_of(dtype), width);
      CHECK(run(false) == run(true));
    }
}
