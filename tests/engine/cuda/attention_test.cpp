// Attention's GPU kernels where the op suite's samples do not reach: sizes around the edges of their tiles, several
// blocks, widths next to the padded ones, and the same bits whenever they run (on the emulator each launch draws
// another order of threads).
#include "engine/ops/attention/attention.h"

#include <fmt/core.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "engine/context.h"
#include "engine/ops/rope/rope.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

namespace {

using namespace headroom::engine;
namespace testing = headroom::testing;

constexpr Device cuda{Device::Kind::cuda, 0};

struct Sizes {
  int64_t batch, queries, keys, heads, kv_heads, qk_dim, v_dim;
  bool causal = true, alibi = false;
  double dropout = 0, key_mask = 1;  ///< key_mask: probability that a key may be attended
  bool gradient = true;
  int64_t window = 0;
  std::optional<double> scale = std::nullopt;
  std::string str() const {
    return fmt::format("B {} Tq {} Tk {} H {}/{} d {} {}, causal {} alibi {} dropout {} mask {} window {} scale {}",
                       batch, queries, keys, heads, kv_heads, qk_dim, v_dim, causal, alibi, dropout, key_mask, window,
                       scale.value_or(0));
  }
};

struct Operands {
  Tensor q, k, v, slopes, dy, mask;
  Operands(const Sizes& p, DType dtype) {
    const auto values = [&](const Shape& shape, uint32_t stream) {
      return random_normal(shape, 0, 1, {17, stream, 0}).to(dtype);
    };
    q = values({p.batch, p.queries, p.heads, p.qk_dim}, 1);
    k = values({p.batch, p.keys, p.kv_heads, p.qk_dim}, 2);
    v = values({p.batch, p.keys, p.kv_heads, p.v_dim}, 3);
    dy = values({p.batch, p.queries, p.heads, p.v_dim}, 4);
    if (p.alibi) slopes = random_uniform({p.heads}, 0.05, 0.5, {17, 5, 0}).to(dtype);
    if (p.key_mask == 1) return;
    std::vector<float> pass = random_uniform({p.batch, p.keys}, 0, 1, {17, 6, 0}).to_vector<float>();
    for (float& x : pass) x = static_cast<double>(x) < p.key_mask ? 1.0f : 0.0f;
    mask = Tensor::from({p.batch, p.keys}, pass).to(DType::boolean);
  }
  template <class F>
  Operands& each(const F& f) {
    for (Tensor* x : {&q, &k, &v, &slopes, &dy, &mask})
      if (x->defined()) *x = f(*x);
    return *this;
  }
};

struct Named {
  const char* name;
  Tensor value;
};

std::vector<Named> run(const Sizes& p, const Operands& in) {
  const AttentionOptions options{.causal = p.causal,
                                 .scale = p.scale,
                                 .dropout = p.dropout,
                                 .dropout_key = {.seed = 3, .stream = 9, .offset = 8},
                                 .key_mask = in.mask,
                                 .window = p.window};
  const Attention forward = attention(in.q, in.k, in.v, in.slopes, options);
  std::vector<Named> out{{"y", forward.y}, {"lse", forward.lse}};
  if (!p.gradient) return out;
  const AttentionGrad grad = attention_grad(in.dy, in.q, in.k, in.v, in.slopes, forward, options);
  out.insert(out.end(), {{"dq", grad.dq}, {"dk", grad.dk}, {"dv", grad.dv}});
  if (p.alibi) out.push_back({"dslopes", grad.dslopes});
  return out;
}

/// Twice on the GPU, once by the reference loops in f64 on what the dtype holds.
void check(const Sizes& p, DType dtype, double tolerance) {
  const Operands rounded(p, dtype);
  Operands exact = rounded, given = rounded;
  exact.each([](const Tensor& x) { return x.dtype() == DType::boolean ? x : x.to(DType::f64); });
  given.each([](const Tensor& x) { return x.to(cuda); });
  const std::vector<Named> got = run(p, given), again = run(p, given);
  const ReferenceScope scope;
  const std::vector<Named> want = run(p, exact);
  for (size_t i = 0; i < want.size(); ++i) {
    INFO(name_of(dtype) << " " << p.str() << ": " << want[i].name);
    REQUIRE(got[i].value.shape() == want[i].value.shape());
    CHECK(testing::relative_distance(got[i].value, want[i].value) <= tolerance);
    CHECK(testing::relative_distance(again[i].value, got[i].value) == 0);
  }
}

// f32: sums of some hundred terms, 2 ulp per exponential. bf16: probabilities and results are rounded to 8 bits.
constexpr double f32_tolerance = 1e-5, f64_tolerance = 1e-13, bf16_tolerance = 0.015;

}  // namespace

// For compute-sanitizer (tests/gpu/steps.py), under which the op suite's samples of attention take too long.
TEST_CASE("attention on CUDA: a small problem for each kernel") {
  if (!has_device(cuda.kind)) return testing::skip("no CUDA device");
  check({1, 66, 66, 2, 1, 4, 4, true, false, 0.1}, DType::f32, f32_tolerance);  // a query a thread
  check({1, 66, 66, 2, 1, 20, 24}, DType::f32, f32_tolerance);                  // blocks, stored probabilities
  check({1, 40, 33, 2, 1, 20, 24}, DType::f32, f32_tolerance);                  // tiles of 64
  for (const int64_t width : {8, 64})
    check({1, 66, 66, 2, 1, width, width}, DType::bf16, bf16_tolerance);  // tensor cores
  check({.batch = 1, .queries = 3, .keys = 140, .heads = 2, .kv_heads = 1, .qk_dim = 8, .v_dim = 8, .gradient = false},
        DType::bf16, bf16_tolerance);  // chunks of keys
}

TEST_CASE("narrow heads on CUDA: tiles of 128 and their edges") {
  if (!has_device(cuda.kind)) return testing::skip("no CUDA device");
  for (const int64_t width : {1, 2, 3, 4, 8, 9, 16})
    check({1, 130, 129 + width, 2, 1, width, width}, DType::f32, f32_tolerance);
  for (const int64_t length : {127, 128, 129, 257}) check({1, length, length, 1, 1, 4, 4}, DType::f32, f32_tolerance);
  check({1, 129, 257, 3, 1, 3, 7, true, true, 0.2, 0.8}, DType::f32, f32_tolerance);
  check({2, 257, 120, 2, 2, 5, 2, true, true}, DType::f32, f32_tolerance);  // the first 137 queries see nothing
  check({3, 140, 130, 2, 1, 2, 2, false, false, 0, 0.01}, DType::f32, f32_tolerance);
}

TEST_CASE("narrow heads on CUDA: two rows per thread where there are many") {
  if (!has_device(cuda.kind)) return testing::skip("no CUDA device");
  const int64_t many = (int64_t{1} << 18) + 131;
  for (const int64_t width : {1, 2, 4}) check({1, many, 5, 1, 1, width, width, false}, DType::f32, 1e-4);
  check({1, 5, many, 1, 1, 3, 2, false}, DType::f32, 1e-4);
}

TEST_CASE("tiles of 64 on CUDA: edges, and results wider than a block's columns") {
  if (!has_device(cuda.kind)) return testing::skip("no CUDA device");
  for (const int64_t length : {63, 64, 65, 129}) check({1, length, length, 1, 1, 20, 24}, DType::f32, f32_tolerance);
  for (const int64_t width : {17, 32, 33, 64, 65, 129, 200})
    check({1, 70, 66, 2, 1, width, width + width % 3}, DType::f32, f32_tolerance);
  check({2, 66, 130, 6, 2, 40, 130, true, true, 0.3, 0.7}, DType::f32, f32_tolerance);
  check({1, 130, 60, 2, 2, 150, 18, true, true}, DType::f32, f32_tolerance);  // the first 70 queries see nothing
  check({1, 65, 67, 2, 1, 3, 35, true, true, 0.3, 0.7}, DType::f64, f64_tolerance);
  check({1, 66, 65, 2, 1, 136, 140, true, false, 0.1}, DType::bf16, bf16_tolerance);
}

TEST_CASE("gradients of f32 from stored probabilities on CUDA: squares of 128, what is hidden, and shares of heads") {
  if (!has_device(cuda.kind)) return testing::skip("no CUDA device");
  for (const int64_t length : {127, 128, 129, 257}) check({1, length, length, 2, 1, 20, 36}, DType::f32, f32_tolerance);
  for (const int64_t width : {32, 64, 68, 128})
    check({1, 70, 131, 1, 1, width, width, false}, DType::f32, f32_tolerance);
  check({2, 66, 130, 6, 2, 40, 132, true, false, 0.3, 0.7}, DType::f32, f32_tolerance);
  check({2, 300, 70, 2, 2, 24, 20, true}, DType::f32, f32_tolerance);  // the first 230 queries see nothing
  check({3, 140, 130, 2, 1, 20, 20, false, false, 0, 0.01}, DType::f32, f32_tolerance);
  check({2, 200, 450, 2, 1, 20, 20, true, false, 0.1, 0.9, true, 60}, DType::f32, f32_tolerance);
  // 130 MiB a head, so that each head is a share.
  check({1, 4100, 4100, 3, 3, 4, 8, true, false, 0, 1, true, 9}, DType::f32, f32_tolerance);
}

TEST_CASE("tensor cores on CUDA: edges of tiles and padded widths") {
  if (!has_device(cuda.kind)) return testing::skip("no CUDA device");
  for (const int64_t length : {63, 64, 65, 129}) check({1, length, length, 1, 1, 16, 16}, DType::bf16, bf16_tolerance);
  for (const int64_t width : {1, 2, 4, 7, 8, 17, 32, 40, 64, 72, 128})
    check({1, 70, 67, 2, 1, width, width + width % 3}, DType::bf16, bf16_tolerance);
  check({2, 66, 130, 6, 2, 8, 24, true, true, 0.3, 0.7}, DType::bf16, bf16_tolerance);
  check({1, 130, 60, 2, 2, 16, 5, true, true}, DType::bf16, bf16_tolerance);  // the first 70 queries see nothing
  check({1, 40, 100, 2, 1, 96, 128, false, true, 0.1, 0.9}, DType::bf16, bf16_tolerance);
}

TEST_CASE("tensor cores on CUDA: rows of any alignment, heads that share keys, masks of whole words") {
  if (!has_device(cuda.kind)) return testing::skip("no CUDA device");
  for (const int64_t width : {3, 4, 6, 8, 12, 20})
    check({1, 129, 129, 4, 2, width, width}, DType::bf16, bf16_tolerance);
  check({1, 150, 200, 6, 2, 8, 4}, DType::bf16, bf16_tolerance);
  check({2, 70, 130, 4, 2, 4, 8, false}, DType::bf16, bf16_tolerance);
  check({1, 200, 90, 3, 1, 4, 4}, DType::bf16, bf16_tolerance);  // the first 110 queries see nothing
  // Dropout's words are by fours: in rows of 128 keys none is shared by two rows.
  for (const int64_t width : {8, 16, 32, 64, 128})
    check({2, 130, 128, 4, 2, width, width, width % 3 == 1, false, 0.3}, DType::bf16, bf16_tolerance);
  for (const double scale : {-0.5, 0.0})
    check({.batch = 1, .queries = 70, .keys = 70, .heads = 1, .kv_heads = 1, .qk_dim = 8, .v_dim = 8, .scale = scale},
          DType::bf16, bf16_tolerance);
}

// Heads, lengths and widths decide how many groups of warps share a head; figures are for the emulated card.
TEST_CASE("tensor cores on CUDA: the gradient as one kernel, by one to four groups, in rounds of keys") {
  if (!has_device(cuda.kind)) return testing::skip("no CUDA device");
  check({2, 70, 70, 10, 10, 8, 8}, DType::bf16, bf16_tolerance);                       // one group, two rounds
  check({1, 260, 260, 8, 8, 16, 16, true, false, 0.2}, DType::bf16, bf16_tolerance);   // two, three rounds
  check({1, 150, 190, 2, 2, 32, 32, false, false, 0.2}, DType::bf16, bf16_tolerance);  // three
  for (const int64_t width : {5, 16, 32})
    check({1, 200, 256, 4, 2, width, width - 1}, DType::bf16, bf16_tolerance);  // four, heads that share keys
  for (const bool causal : {false, true})
    check({1, 20, 250, 1, 1, 20, 20, causal}, DType::bf16, bf16_tolerance);  // fewer tiles of queries
  check({1, 250, 180, 2, 1, 8, 6}, DType::bf16, bf16_tolerance);             // the first 70 see nothing
}

TEST_CASE("few queries on CUDA: chunks of 128 keys and their edges") {
  if (!has_device(cuda.kind)) return testing::skip("no CUDA device");
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const double tolerance = dtype == DType::bf16 ? bf16_tolerance : f32_tolerance;
    for (const int64_t keys : {127, 128, 129, 385})
      for (const int64_t group : {1, 3, 9})
        check({.batch = 2,
               .queries = 1,
               .keys = keys,
               .heads = 2 * group,
               .kv_heads = 2,
               .qk_dim = 8,
               .v_dim = 8,
               .gradient = false},
              dtype, tolerance);
    for (const int64_t width : {1, 5, 64, 100, 128, 300})
      check({.batch = 1,
             .queries = 3,
             .keys = 140,
             .heads = 4,
             .kv_heads = 2,
             .qk_dim = width,
             .v_dim = width + 1,
             .alibi = true,
             .key_mask = 0.5,
             .gradient = false},
            dtype, tolerance);
  }
}

TEST_CASE("attention's gradients are written to strided places with the bytes of whole tensors") {
  if (!has_device(cuda.kind)) return testing::skip("no CUDA device");
  for (const std::pair<int64_t, DType>& tried :
       {std::pair{int64_t{8}, DType::f32}, {24, DType::f32}, {16, DType::bf16}, {32, DType::bf16}}) {
    const int64_t width = tried.first;
    const DType dtype = tried.second;
    INFO(width << " " << name_of(dtype));
    const int64_t length = width == 24 ? 72 : 64;  // tiles of 128 take it
    const Sizes p{2, length, length, 4, 2, width, width};
    Operands in(p, dtype);
    in.each([](const Tensor& x) { return x.to(cuda); });
    // q, k and v as one product gives them, and their gradients likewise.
    const auto joint = [&] {
      const Tensor all = Tensor::zeros({2, length, 8, width}, dtype, cuda);
      return AttentionGrad{all.slice(2, 0, 4), all.slice(2, 4, 6), all.slice(2, 6, 8), {}};
    };
    const AttentionGrad operands = joint(), places = joint();
    copy_inplace(operands.dq, in.q), copy_inplace(operands.dk, in.k), copy_inplace(operands.dv, in.v);
    const AttentionOptions options{.causal = true};
    const Attention whole = attention(in.q, in.k, in.v, {}, options);
    const Attention forward = attention(operands.dq, operands.dk, operands.dv, {}, options);
    CHECK(forward.y.to_vector<float>() == whole.y.to_vector<float>());
    const AttentionGrad want = attention_grad(in.dy, in.q, in.k, in.v, {}, whole, options);
    const AttentionGrad got =
        attention_grad(in.dy, operands.dq, operands.dk, operands.dv, {}, forward, options, places);
    CHECK(got.dq.raw() == places.dq.raw());
    for (const auto& [one, other] : {std::pair{got.dq, want.dq}, {got.dk, want.dk}, {got.dv, want.dv}})
      CHECK(one.to_vector<float>() == other.to_vector<float>());
    std::vector<int64_t> positions(static_cast<size_t>(length));
    std::iota(positions.begin(), positions.end(), 0);
    const RopeTable table = rope_table(in.q, Tensor::from<int64_t>({length}, positions).to(cuda), 10000, false);
    const Tensor place = joint().dq;
    CHECK(rope_grad(got.dq, table, place).raw() == place.raw());
    CHECK(place.to_vector<float>() == rope_grad(want.dq, table).to_vector<float>());
  }
}
