// Device storage and copies where there is a GPU; elsewhere, that asking for one is an error with a reason. The ops'
// own kernels are checked by the op suite.
#include <numeric>

#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/tensor.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using engine::Device;
using engine::Tensor;
using testing::error_of;

constexpr Device cuda{Device::Kind::cuda, 0};

Tensor counting(const engine::Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::from(shape, values);
}

}  // namespace

TEST_CASE("a GPU that is not there is an error that says why") {
  if (engine::has_device(Device::Kind::cuda)) return testing::skip("this machine has a GPU");
  CHECK_FALSE(engine::cuda_status().empty());
  const std::string why = "cuda:0 cannot be used: " + engine::cuda_status();
  CHECK(error_of([] { Tensor::zeros({2}, engine::DType::f32, cuda); }).find(why) != std::string::npos);
  CHECK(error_of([] { counting({2, 3}).to(cuda); }).find(why) != std::string::npos);
}

TEST_CASE("tensors travel to the GPU and back") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const engine::Shape& shape : {engine::Shape{}, {1}, {0, 3}, {5, 7}, {3, 1031}}) {
    const Tensor x = counting(shape);
    CHECK(x.to(cuda).to(engine::cpu).to_vector<float>() == x.to_vector<float>());
  }
  CHECK(Tensor::zeros({3, 5}, engine::DType::f64, cuda).to_vector<double>() == std::vector<double>(15, 0.0));
}

TEST_CASE("strided tensors are copied on the GPU, whatever the size of an element") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const engine::DType dtype : {engine::DType::u8, engine::DType::bf16, engine::DType::f32, engine::DType::i64}) {
    const Tensor x = counting({4, 3, 5}).to(dtype);
    const auto view = [](const Tensor& t) { return t.permute({2, 0, 1}).slice(1, 1, 3); };
    CHECK(view(x.to(cuda)).contiguous().to_vector<double>() == view(x).to_vector<double>());
  }
}

TEST_CASE("sums and accumulation work for tensors on the GPU") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor x = counting({2, 3});
  const Tensor y = x.to(cuda).clone();
  engine::add_inplace(y, x.to(cuda));
  CHECK(y.to_vector<float>() == engine::add(x, x).to_vector<float>());
}
