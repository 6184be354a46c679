// The op suite checks cast with f32 and f64; here all real dtypes, on every device there is.
#include "autograd/ops.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::autograd;
using engine::DType;

namespace {

std::vector<engine::Device> devices() {
  std::vector<engine::Device> all{engine::cpu};
  if (engine::has_device(engine::Device::Kind::cuda)) all.push_back({engine::Device::Kind::cuda, 0});
  return all;
}

}  // namespace

TEST_CASE("cast: between all real dtypes, value and gradient") {
  // 1 + 2^-9 and 3 · 2^-10 + 1 lie between two bf16; the last rounds up.
  const std::vector<double> numbers{0, -2.5, 1.001953125, 1.0029296875, 33.3};
  for (const engine::Device device : devices())
    for (const DType from : {DType::f64, DType::f32, DType::bf16, DType::f16})
      for (const DType to : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
        INFO(device.str() << ", " << engine::name_of(from) << " to " << engine::name_of(to));
        const Var x(Tensor::from({5}, numbers).to(from).to(device), true);
        const Var y = cast(x, to);
        CHECK(y.value().dtype() == to);
        CHECK(y.value().to_vector<double>() == Tensor::from({5}, numbers).to(from).to(to).to_vector<double>());
        const Tensor dy = Tensor::from({5}, numbers).to(to);
        y.backward(dy.to(device));
        CHECK(x.grad().dtype() == from);
        CHECK(x.grad().to_vector<double>() == dy.to(from).to_vector<double>());
      }
}

TEST_CASE("cast: to the dtype it has already is the value itself") {
  const Var x(Tensor::full({2}, 3), true);
  CHECK(cast(x, DType::f32).node() == x.node());
}

TEST_CASE("a bf16 leaf with an f32 gradient gets what several uses add up to in f32") {
  // 256 + 1 has no bf16, so that a sum in bf16 would lose the 1.
  const Var x(Tensor::full({1}, 1, DType::bf16), true);
  const Tensor gradient = Tensor::full({1}, 7);
  x.bind(Tensor::full({1}, 1, DType::bf16), gradient);
  for (const double factor : {256.0, 1.0}) scale(x, factor).backward();
  CHECK(x.grad().dtype() == DType::f32);
  CHECK(gradient.to_vector<float>() == std::vector<float>{257});
}
