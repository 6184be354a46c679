// Attention by cuDNN (under the emulator: by its rules). f16 has no kernel of ours, so that a result in f16 comes from
// cuDNN.
#include <cmath>

#include "engine/context.h"
#include "engine/cuda/sdpa.h"
#include "engine/ops/attention/attention.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using engine::AttentionOptions;
using engine::Device;
using engine::DType;
using engine::Tensor;
using testing::distance;
using testing::error_of;

constexpr Device cuda{Device::Kind::cuda, 0};
const std::string none = "attention: no f16 kernel on cuda for this problem";

struct Case {
  int64_t queries, keys, heads, kv_heads, dim;
  bool causal;
};

/// Numbers that f16 holds.
Tensor random(const engine::Shape& shape, uint64_t seed) {
  return engine::random_uniform(shape, -1, 1, engine::RngKey{seed, 0}).to(DType::f16).to(DType::f64);
}

Tensor there(const Tensor& x) { return x.to(DType::f16).to(cuda); }

std::string refused(const Case& c, const Tensor& slopes, const AttentionOptions& options) {
  const Tensor q = random({1, c.queries, c.heads, c.dim}, 1), k = random({1, c.keys, c.kv_heads, c.dim}, 2);
  return error_of([&] { engine::attention(there(q), there(k), there(k), slopes, options); });
}

}  // namespace

TEST_CASE("attention in f16: values and gradients", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const Case& c : {Case{24, 24, 4, 4, 64, false}, Case{24, 24, 4, 4, 64, true}, Case{24, 24, 4, 4, 16, false},
                        Case{24, 24, 4, 4, 16, true}, Case{17, 33, 4, 2, 8, true}}) {
    INFO(c.queries << " queries, " << c.keys << " keys, width " << c.dim << ", causal " << c.causal);
    // The library may refuse what no rule is against, except for the usual width.
    const std::string refusal = refused(c, {}, {.causal = c.causal});
    CHECK((refusal.empty() || (c.dim < 64 && refusal.find(none) == 0)));
    if (!refusal.empty()) continue;
    const Tensor q = random({2, c.queries, c.heads, c.dim}, 1), k = random({2, c.keys, c.kv_heads, c.dim}, 2);
    const Tensor v = random({2, c.keys, c.kv_heads, c.dim}, 3), dy = random(q.shape(), 4);
    const AttentionOptions options{.causal = c.causal};
    const auto want = engine::attention(q, k, v, {}, options);
    // Heads in front of positions: read where they lie.
    const Tensor turned = there(q.permute({0, 2, 1, 3})).permute({0, 2, 1, 3});
    const auto got = engine::attention(turned, there(k), there(v), {}, options);
    CHECK(distance(got.y, want.y) < 2e-3);
    CHECK(distance(got.lse, want.lse) < 2e-3);
    const auto grad = engine::attention_grad(there(dy), turned, there(k), there(v), {}, got, options);
    const auto want_grad = engine::attention_grad(dy, q, k, v, {}, want, options);
    CHECK(distance(grad.dq, want_grad.dq) < 5e-3);
    CHECK(distance(grad.dk, want_grad.dk) < 5e-3);
    CHECK(distance(grad.dv, want_grad.dv) < 5e-3);
  }
}

TEST_CASE("f32 attention of operands that are rounded to bf16 runs in bf16", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const auto wide = [](const Tensor& x) { return x.to(DType::bf16).to(DType::f32); };
  const Tensor q = wide(random({1, 20, 2, 8}, 1)), k = wide(random({1, 20, 2, 8}, 2)),
               v = wide(random({1, 20, 2, 8}, 3));
  const Tensor dy = wide(random({1, 20, 2, 8}, 4));
  const AttentionOptions options{.causal = true};
  const auto want = engine::attention(q, k, v, {}, options);
  const auto want_grad = engine::attention_grad(dy, q, k, v, {}, want, options);
  const engine::PrecisionScope scope(engine::Precision::bf16);
  const auto got = engine::attention(q.to(cuda), k.to(cuda), v.to(cuda), {}, options);
  CHECK(got.y.dtype() == DType::f32);
  CHECK(distance(got.y, got.y.to(DType::bf16)) == 0);  // it has been in bf16
  CHECK(distance(got.y, want.y) < 2e-2);
  CHECK(distance(got.lse, want.lse) < 2e-2);
  const auto grad = engine::attention_grad(dy.to(cuda), q.to(cuda), k.to(cuda), v.to(cuda), {}, got, options);
  CHECK(distance(grad.dq, want_grad.dq) < 3e-2);
  CHECK(distance(grad.dk, want_grad.dk) < 3e-2);
  CHECK(distance(grad.dv, want_grad.dv) < 3e-2);
  const Tensor slopes = Tensor::from<float>({2}, {0.1f, 0.3f});
  const auto biased = engine::attention(q.to(cuda), k.to(cuda), v.to(cuda), slopes.to(cuda), options);
  CHECK(distance(biased.y, engine::attention(q, k, v, slopes, options).y) < 1e-5);  // in f32
}

TEST_CASE("what cuDNN lacks is left to other kernels", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Case fits{24, 24, 2, 2, 64, true};
  CHECK(refused(fits, {}, {}).empty());
  CHECK(refused({24, 24, 2, 2, 60, true}, {}, {}).find(none) == 0);
  CHECK(refused({4, 24, 2, 2, 64, true}, {}, {}).find(none) == 0);
  CHECK(refused({24, 20, 2, 2, 64, true}, {}, {.causal = true}).find(none) == 0);
  CHECK(refused(fits, there(random({2}, 5)), {}).find(none) == 0);
  CHECK(refused(fits, {}, {.dropout = 0.1}).find(none) == 0);
  CHECK(refused(fits, {}, {.key_mask = Tensor::full({1, 24}, 1, DType::boolean).to(cuda)}).find(none) == 0);
}

TEST_CASE(
    "cuDNN is not asked for a gradient that works in much memory, nor by an old version for keys that it would pad") {
  using engine::cuda::sdpa_rule_against;
  using engine::cuda::SdpaPass;
  const auto rule = [](int64_t batch, int64_t heads, int64_t length, int64_t version = 91900,
                       SdpaPass pass = SdpaPass::backward) {
    return sdpa_rule_against({.batch = batch,
                              .queries = length,
                              .keys = length,
                              .heads = heads,
                              .kv_heads = heads,
                              .qk_dim = 64,
                              .v_dim = 64,
                              .causal = true},
                             pass, version, 90);
  };
  CHECK(engine::cuda::sdpa_workspace(8, 12, 1024, 1024) == 201326592);  // GPT-2
  CHECK(engine::cuda::sdpa_workspace(1, 1, 17, 129) == 2 * 64 * 256);
  CHECK(rule(8, 12, 1024).empty());
  CHECK(rule(8, 16, 1024).empty());  // 256 MiB
  CHECK(rule(9, 16, 1024).find("256 MiB") != std::string::npos);
  CHECK(rule(8, 16, 4096).find("256 MiB") != std::string::npos);
  CHECK(rule(8, 16, 4096, 91900, SdpaPass::forward).empty());
  // Prompts have a length each.
  CHECK(rule(1, 2, 1000).find("no multiple of 64") != std::string::npos);
  CHECK(rule(1, 2, 1024).empty());
  const auto wide = [](DType dtype, int64_t qk_dim, int64_t v_dim) {
    return sdpa_rule_against({.dtype = dtype,
                              .batch = 1,
                              .queries = 64,
                              .keys = 64,
                              .heads = 2,
                              .kv_heads = 2,
                              .qk_dim = qk_dim,
                              .v_dim = v_dim},
                             SdpaPass::forward, 91900, 90);
  };
  CHECK(wide(DType::bf16, 24, 24).find("narrower than 32") != std::string::npos);
  CHECK(wide(DType::bf16, 32, 32).empty());
  CHECK(wide(DType::bf16, 24, 64).empty());
  CHECK(wide(DType::f16, 8, 8).empty());
  CHECK(rule(2, 2, 1000).empty());
  CHECK(rule(2, 2, 1000, 91500).find("multiple of 128") != std::string::npos);
  CHECK(rule(2, 2, 1024, 91500).empty());
  CHECK(rule(2, 2, 1000, 91501).empty());
}

TEST_CASE("attention in bf16 is right whether cuDNN takes it, refuses it or fails at it", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const auto half = [](const Tensor& x) { return x.to(DType::bf16).to(cuda); };
  const auto exact = [](const Tensor& x) { return x.to(DType::bf16).to(DType::f64); };
  const Tensor q = random({2, 40, 2, 64}, 1), k = random({2, 40, 2, 64}, 2), dy = random({2, 40, 2, 64}, 3);
  const AttentionOptions options{.causal = true};
  const auto want = engine::attention(exact(q), exact(k), exact(k), {}, options);
  const auto want_grad = engine::attention_grad(exact(dy), exact(q), exact(k), exact(k), {}, want, options);
  for (int i = 0; i < 2; ++i) {
    const auto got = engine::attention(half(q), half(k), half(k), {}, options);
    CHECK(distance(got.y, want.y) < 2e-2);
    const auto grad = engine::attention_grad(half(dy), half(q), half(k), half(k), {}, got, options);
    CHECK(distance(grad.dq, want_grad.dq) < 3e-2);
    CHECK(distance(grad.dk, want_grad.dk) < 3e-2);
    CHECK(distance(grad.dv, want_grad.dv) < 3e-2);
  }
}
