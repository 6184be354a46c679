// Ops of shared libraries: own_silu is the built-in silu under another name, so that all numbers must be the same.
#include "models/op_library/op_library.h"

#include <functional>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/op_library.h"
#include "tests/models/op_library/libraries.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

using namespace headroom;
using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;
using autograd::Var;
using engine::DType, engine::Tensor;

template <class T>
std::vector<std::vector<T>> value_and_gradient(const Var& x, const std::function<Var(const Var&)>& f, int threads) {
  const engine::ThreadScope scope(threads);
  x.zero_grad();
  const Var y = f(x);
  y.backward(y.value());
  return {y.value().to_vector<T>(), x.grad().to_vector<T>()};
}

}  // namespace

TEST_CASE("an op of a library computes what its twin in the engine does, whatever the strides, dtype and threads") {
  const models::LibraryOp& op = models::library_op(built_library("own_silu"), "own_silu");
  CHECK(op.name() == "own_silu");
  CHECK(&models::library_op(built_library("own_silu"), "own_silu") == &op);
  engine::Rng rng(5);
  const auto check = [&](auto number, DType dtype) {
    using T = decltype(number);
    const Tensor whole = engine::random_normal({37, 1031}, 0, 3, rng.take("x", 37 * 1031), dtype);
    for (const Tensor& value : {whole, whole.transpose(0, 1), whole.slice(0, 1, 2), whole.slice(0, 3, 3)}) {
      const Var x(value, true);
      const auto wanted = value_and_gradient<T>(
          x, [](const Var& v) { return autograd::silu(v); }, 1);
      for (const int threads : {1, 2, 3})
        CHECK(value_and_gradient<T>(
                  x, [&](const Var& v) { return op(v); }, threads) == wanted);
      const engine::ReferenceScope reference;
      CHECK(value_and_gradient<T>(
                x, [&](const Var& v) { return op(v); }, 2) ==
            value_and_gradient<T>(
                x, [](const Var& v) { return autograd::silu(v); }, 2));
    }
  };
  check(float(), DType::f32);
  check(double(), DType::f64);
  const Tensor whole = engine::random_normal({4}, 0, 1, rng.take("half", 4));
  CHECK_THAT(error_of([&] { op(Var(whole.to(DType::f16))); }), contains("own_silu: no f16 kernel on cpu"));
  CHECK_THAT(error_of([&] { op(Var(whole.to(DType::bf16))); }), contains("own_silu: no bf16 kernel on cpu"));
  CHECK_THAT(error_of([&] { op(Var()); }), contains("own_silu"));
  const Var x(whole.clone(), true);
  const Var y = op(x);
  Tensor written = x.value();
  written.mutable_data<float>()[0] = 2;
  CHECK_THAT(error_of([&] { y.backward(whole); }), contains("own_silu"));
}

TEST_CASE("what is no library of ops for this program is refused with its name and the reason") {
  const auto refusal = [](const fs::path& file) { return error_of([&] { models::library_ops(file); }); };
  const TemporaryFolder folder;
  const std::string bytes = read_bytes(built_library("own_silu"));
  write_bytes(folder / "text.so", "no library");
  write_bytes(folder / "cut.so", bytes.substr(0, bytes.size() / 4));
  write_bytes(folder / "short.so", bytes.substr(0, 20));
  write_bytes(folder / "empty.so", "");
  CHECK_THAT(refusal(folder / "none.so"), contains("none.so: cannot read the library of ops: No such file"));
  CHECK_THAT(refusal(folder.path()), contains("is a folder, not a library of ops"));
  CHECK_THAT(refusal(folder / "text.so"), contains("text.so: is no shared library of this system"));
  CHECK_THAT(refusal(folder / "short.so"), contains("short.so: is no shared library of this system"));
  CHECK_THAT(refusal(folder / "empty.so"), contains("empty.so: is no shared library of this system"));
  CHECK_THAT(refusal(folder / "cut.so"), contains("cut.so: is a shared library that was cut off"));
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"symbol", "is no library of ops: it has no headroom_op_library(), which HEADROOM_OP_LIBRARY makes"},
      {"abi", "was built for version 2 of the interface of op libraries, this headroom has 1: build it again"},
      {"version", "was built with headroom 7.3.1, this is " HEADROOM_VERSION ": build it again"},
      {"empty", "has 0 ops; expected 1 to 1024"},
      {"name", "'Own-Relu' is no name for an op"},
      {"built-in", "its op gelu has the name of a built-in activation"},
      {"twice", "has two ops with the name own_relu"},
      {"loops", "its op own_relu lacks loops"},
      {"levels", "its op own_relu has no portable kernel"},
      {"unknown-level", "its op own_relu has kernels for 'sse9'; known are portable, avx2 and avx512"}};
  for (const auto& [name, reason] : wrong) {
    INFO(name);
    const std::string message = refusal(built_library("wrong-" + name));
    CHECK_THAT(message, contains("libwrong-" + name + ".so: " + reason));
  }
}
