// The dispatcher on ops of its own, and what the engine's ops say on a device that has none of their kernels: a second
// device whose memory is the host's.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/dispatch/op.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/elementwise/comparison.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/embedding/embedding.h"
#include "engine/ops/rms_norm/rms_norm.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using namespace headroom::engine;

struct Call {
  Tensor x, ids, keep;
  std::string ran{};  ///< which row
  bool saw_contiguous = false;
  auto operands() { return std::array{real("x", x), index("ids", ids), optional_mask("keep", keep)}; }
};

template <char row>
void note(Call& call) {
  call.ran = row;
  call.saw_contiguous = call.x.is_contiguous();
}

const Op<Call> op{"sample_op",
                  {{.name = "short rows",
                    .dtypes = DType::f32,
                    .run = note<'s'>,
                    .takes_strided = true,
                    .supports = [](const Call& call) { return call.x.dim(-1) <= 4; }},
                   {.name = "any", .dtypes = DType::f32, .run = note<'a'>},
                   {.name = "loops", .dtypes = DType::f32 | DType::f64, .run = note<'l'>, .is_reference = true}}};

Call call_of(const Shape& shape, DType dtype = DType::f32) {
  return {Tensor::zeros(shape, dtype), Tensor::zeros({2}, DType::i64), Tensor()};
}

std::string ran(Call call) {
  op.check(call);
  op.run(call);
  return call.ran;
}

/// A "CUDA" device in host memory: tensors live there, but no op of ours has a kernel for it.
const Device other{Device::Kind::cuda, 0};
/// False, and the test skipped, in a build with the CUDA backend, whose kernels are in the ops' tables.
bool start_other() {
  static const bool is_free = [] {
    cuda_status();  // adds the backend's rows
    const auto ops = all_ops();
    return std::none_of(ops.begin(), ops.end(),
                        [](const OpBase* one) { return one->has(Device::Kind::cuda, DType::f32); });
  }();
  if (!is_free) {
    testing::skip("this build has CUDA kernels of its own");
    return false;
  }
  register_device(
      Device::Kind::cuda,
      {.memory = {[](size_t bytes) { return std::malloc(bytes); }, [](void* block, size_t) { std::free(block); }},
       .copy = [](Device, void* to, Device, const void* from, size_t bytes) { std::memcpy(to, from, bytes); },
       .fill = [](void* to, int byte, size_t bytes) { std::memset(to, byte, bytes); },
       .strided_copy = [](const Tensor&, const Tensor&) { fail("no strided copies here"); }});
  return true;
}

}  // namespace

TEST_CASE("dispatch: the first row that supports the problem runs, and a reference scope asks for the loops") {
  CHECK(ran(call_of({3, 4})) == "s");
  CHECK(ran(call_of({3, 5})) == "a");
  CHECK(ran(call_of({3, 4}, DType::f64)) == "l");
  const ReferenceScope scope;
  CHECK(ran(call_of({3, 4})) == "l");
}

TEST_CASE("dispatch: operands are made contiguous unless the row takes them as they are") {
  Call narrow = call_of({4, 3}), wide = call_of({7, 5});
  narrow.x = narrow.x.transpose(0, 1);
  wide.x = wide.x.transpose(0, 1);
  op.run(narrow);
  op.run(wide);
  CHECK(narrow.ran == "s");
  CHECK_FALSE(narrow.saw_contiguous);
  CHECK(wide.ran == "a");
  CHECK(wide.saw_contiguous);
}

TEST_CASE("dispatch: what is undefined, of a wrong dtype or has no row is refused by name") {
  const auto refusal = [](Call call) {
    try {
      op.check(call);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(call_of({3, 4})) == "");
  CHECK(refusal({Tensor(), Tensor::zeros({2}, DType::i64), Tensor()}) == "sample_op: operand x is undefined");
  CHECK(refusal({Tensor::zeros({2}), Tensor::zeros({2}), Tensor()}) == "sample_op: ids f32 (2) is not i64");
  CHECK(refusal({Tensor::zeros({2}), Tensor::zeros({2}, DType::i64), Tensor::zeros({3}, DType::u8)}) ==
        "sample_op: keep u8 (3) is not bool");
  CHECK(refusal(call_of({3, 4}, DType::bf16)) == "sample_op: no bf16 kernel on cpu: bf16 (3, 4)");
}

TEST_CASE("dispatch: on another device an op without a kernel is refused before anything is read") {
  if (!start_other()) return;
  const Tensor x = Tensor::full({2, 3}, 1.5), w = Tensor::full({3}, 1.0);  // (2, 3), (3)
  CHECK(x.to(other).to(cpu).to_vector<float>() == x.to_vector<float>());
  CHECK_THROWS_WITH(rms_norm(x.to(other), w.to(other), 1e-6), "rms_norm: no f32 kernel on cuda: f32 (2, 3)");
  CHECK_THROWS_WITH(rms_norm(x, w.to(other), 1e-6),
                    "rms_norm: operands lie on different devices: x f32 (2, 3) on cpu, weight f32 (3) on cuda:0");
  const Tensor far_ids = Tensor::full({2}, 1e9, DType::i64).to(other);  // outside the table, and never looked at
  CHECK_THROWS_WITH(embedding(x, far_ids),
                    "embedding: operands lie on different devices: table f32 (2, 3) on cpu, indices i64 (2) on cuda:0");
  CHECK_THROWS_WITH(embedding(x.to(other), far_ids), "embedding: no f32 kernel on cuda: f32 (2, 3)");
}

TEST_CASE("context: random fills go to its device, with the same bits, or are refused") {
  if (!start_other()) return;
  const RngKey key{7, 1, 0};
  const Tensor here = random_normal({5}, 0, 1, key);  // (5)
  const DeviceScope scope(other);
  const Tensor there = random_normal({5}, 0, 1, key);  // (5)
  CHECK(there.device() == other);
  CHECK(there.to_vector<float>() == here.to_vector<float>());
  CHECK_THROWS_WITH(random_integers({3}, 0, 9, key), "random_integers: no i64 kernel on cuda: i64 (3)");
}

TEST_CASE("dispatch: a device's backend adds rows, and the op then runs there") {
  if (!start_other()) return;
  static BinaryOp own{"own_add", {}};
  const Tensor x = Tensor::full({3}, 2.0);
  CHECK_THROWS_WITH(binary(own, x.to(other), x.to(other)), "own_add: no f32 kernel on cuda: f32 (3)");
  own.add({.name = "one by one",
           .dtypes = DType::f32,
           .run =
               [](BinaryCall& call) {
                 for (int64_t i = 0; i < call.y.numel(); ++i)
                   call.y.mutable_data<float>()[i] = call.a.data<float>()[i] + call.b.data<float>()[i];
               },
           .device = Device::Kind::cuda});
  CHECK(binary(own, x.to(other), x.to(other)).to_vector<float>() == std::vector<float>{4, 4, 4});
  REQUIRE(own.table().size() == 1);
  CHECK(own.table()[0].device == "cuda");
  CHECK_THROWS_WITH(binary(own, x, x), "own_add: no f32 kernel on cpu: f32 (3)");
}

TEST_CASE("elementwise ops on strided operands, in blocks, give the bits of contiguous ones") {
  const auto bits = [](const Tensor& x) { return x.to(DType::f64).to_vector<double>(); };
  Rng rng(0);
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const auto drawn = [&](const Shape& shape) { return random_normal(shape, rng, "x").to(dtype); };
    const Tensor square = drawn({413, 331}), cube = drawn({17, 130, 61}), rows = drawn({130, 61, 17});
    const std::vector<std::pair<Tensor, Tensor>> pairs{
        {square.transpose(0, 1), drawn({331, 413})},                         // one transposed
        {square.transpose(0, 1), drawn({413, 331}).transpose(0, 1)},         // both, alike
        {cube.permute({1, 2, 0}), rows},                                     // neighbours along the first axis
        {cube.permute({2, 1, 0}), drawn({17, 130, 61}).permute({2, 1, 0})},  // alike, in reverse
        {drawn({4, 3, 90, 120}).transpose(2, 3), drawn({90, 2}).select(1, 0)},
        {drawn({70000}).slice(0, 0, -1, 2), drawn({35000})},  // every second one
        {square.slice(1, 3, 300), drawn({413, 1})},           // windows of rows, broadcast
        {square.transpose(0, 1), drawn({413, 331}).transpose(0, 1).slice(0, 0, 1)}};
    for (const auto& [a, b] : pairs) {
      INFO(a.str() << ", " << b.str());
      const Tensor want = add(a.contiguous(), b.contiguous()), dy = drawn(want.shape());
      for (const int threads : {1, 3}) {
        const ThreadScope scope(threads);
        CHECK(bits(add(a, b)) == bits(want));
        CHECK(bits(leaky_relu_grad_b(dy, a, b)) == bits(leaky_relu_grad_b(dy, a.contiguous(), b.contiguous())));
        CHECK(bits(less(a, b)) == bits(less(a.contiguous(), b.contiguous())));
        CHECK(bits(tanh(a)) == bits(tanh(a.contiguous())));
        CHECK(bits(sin_grad(a, a, Tensor())) == bits(sin_grad(a.contiguous(), a.contiguous(), Tensor())));
      }
    }
  }
}
