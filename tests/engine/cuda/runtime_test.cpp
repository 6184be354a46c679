// Streams, memory, staging and recordings of the CUDA runtime: on a GPU, or on the emulator.
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>

#include "engine/allocator.h"
#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/recording.h"
#include "engine/tensor.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using namespace headroom::engine;
using testing::error_of;

constexpr Device cuda{Device::Kind::cuda, 0};

bool is_absent() {
  if (has_device(Device::Kind::cuda)) return false;
  testing::skip("no CUDA device");
  return true;
}

Tensor counting(int64_t n, float first = 0) {
  std::vector<float> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), first);
  return Tensor::from({n}, values);
}

}  // namespace

TEST_CASE("a device is named as cpu, cuda or cuda:N") {
  CHECK(device_of("cpu") == cpu);
  CHECK(device_of("cuda") == cuda);
  CHECK(device_of("cuda:0") == cuda);
  CHECK(device_of("cuda:7").index == 7);
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999", "CUDA"})
    CHECK(error_of([&] { device_of(name); }).find("known: cpu, cuda, cuda:0") != std::string::npos);
}

TEST_CASE("a GPU that there is not, beside one that there is, is an error") {
  if (is_absent()) return;
  const std::string error = error_of([] { Tensor::empty({2}, DType::f32, {Device::Kind::cuda, 7}); });
  CHECK(error.find("device: cuda:7 cannot be used") == 0);
}

TEST_CASE("facts about CUDA are there without a GPU, too") {
  for (const auto& [what, found] : cuda_facts()) {
    CHECK_FALSE(what.empty());
    CHECK_FALSE(found.empty());
  }
  if (has_device(Device::Kind::cuda)) CHECK(cuda_facts().size() >= 2);
}

TEST_CASE("out of device memory: who wants how much, what is held and free, and what to try") {
  if (is_absent()) return;
  const std::string error = error_of([] { Tensor::empty({int64_t{1} << 50}, DType::f32, cuda); });
  for (const char* word : {"cuda:0 is out of memory", "needs", "MiB", "hold", "free", "train.accumulate", "--jobs"})
    CHECK(error.find(word) != std::string::npos);
  CHECK(Tensor::zeros({3}, DType::f32, cuda).to_vector<float>() == std::vector<float>(3, 0.0f));
}

TEST_CASE("the host may write to what it has given to the device at once, whatever its size") {
  if (is_absent()) return;
  const DeviceStream stream(cuda);
  const StreamScope scope(stream.handle());
  for (const int64_t n : {int64_t{1}, int64_t{1000}, int64_t{5} << 20}) {  // of 4 bytes: the last goes in three pieces
    const Tensor source = counting(n), wanted = source.clone();
    const Tensor there = source.to(cuda);
    std::memset(source.mutable_raw(), 0xff, static_cast<size_t>(n) * sizeof(float));
    CHECK((there.to_vector<float>() == wanted.to_vector<float>()));
  }
}

TEST_CASE("a freed block goes to the next tensor of its stream, and not to another stream's") {
  if (is_absent()) return;
  const DeviceStream one(cuda), two(cuda);
  const StreamScope scope(one.handle());
  const auto place = [] { return Tensor::empty({12345}, DType::f32, cuda).raw(); };
  const void* const first = place();
  CHECK(place() == first);
  {
    const StreamScope other(two.handle());
    CHECK(place() != first);
  }
  CHECK(place() == first);
}

TEST_CASE("the blocks of a stream that is gone serve the others") {
  if (is_absent()) return;
  const void* first = nullptr;
  {
    const DeviceStream gone(cuda);
    const StreamScope scope(gone.handle());
    first = Tensor::empty({23456}, DType::f32, cuda).raw();
  }
  const DeviceStream stream(cuda);
  const StreamScope scope(stream.handle());
  CHECK(Tensor::empty({23456}, DType::f32, cuda).raw() == first);
}

TEST_CASE("a block that another stream still reads is not overwritten by its next owner") {
  if (is_absent()) return;
  const DeviceStream one(cuda), two(cuda);
  for (int round = 0; round < 8; ++round) {
    const Tensor values = counting(3001, static_cast<float>(round));
    Tensor copy;
    const void* place = nullptr;
    {
      const StreamScope scope(one.handle());
      std::optional<Tensor> x(values.to(cuda));
      synchronize(cuda);
      {
        const StreamScope other(two.handle());
        copy = x->clone();  // queued on the second stream
      }
      place = x->raw();
      x.reset();
      const Tensor next = Tensor::zeros({3001}, DType::f32, cuda);  // its block, written to on the first
      CHECK(next.raw() == place);
      synchronize(cuda);
    }
    const StreamScope scope(two.handle());
    CHECK((copy.to_vector<float>() == values.to_vector<float>()));
  }
}

TEST_CASE("a recording does its work again, on what its tensors hold then") {
  if (is_absent()) return;
  const DeviceStream stream(cuda);
  const StreamScope scope(stream.handle());
  CHECK(Recording::is_possible(cuda));
  MemoryPool pool(Device::Kind::cuda);
  const Tensor x = counting(100).to(cuda), sum = Tensor::zeros({100}, DType::f32, cuda);
  const auto work = [&] {
    const PoolScope in(pool);
    add_inplace(sum, add(x, x));
  };
  work();
  work();
  const int64_t allocations = pool.stats().system_allocations;
  const Recording recording(cuda, work);
  CHECK(sum.to_vector<float>()[10] == 40);  // recorded, not run
  recording.replay();
  CHECK(sum.to_vector<float>()[10] == 60);
  copy_inplace(x, counting(100, 1));
  recording.replay();
  recording.replay();
  CHECK(sum.to_vector<float>()[10] == 60 + 2 * 22);
  CHECK(pool.stats().system_allocations == allocations);
}

TEST_CASE("another stream's block that goes during a recording is anybody's when the work before that is done") {
  if (is_absent()) return;
  const DeviceStream one(cuda), two(cuda);
  for (int round = 0; round < 4; ++round) {
    const Tensor values = counting(4001, static_cast<float>(round));
    std::optional<Tensor> x;
    {
      const StreamScope scope(one.handle());
      x = values.to(cuda);
      synchronize(cuda);
    }
    const void* const place = x->raw();
    Tensor copy;
    {
      const StreamScope scope(two.handle());
      const Tensor sum = Tensor::zeros({5}, DType::f32, cuda), more = Tensor::full({5}, 1, DType::f32, cuda);
      copy = x->clone();  // queued, not run yet
      const Recording recording(cuda, [&] {
        x.reset();
        add_inplace(sum, more);
      });
      {
        const StreamScope other(one.handle());
        const Tensor next = Tensor::zeros({4001}, DType::f32, cuda);
        CHECK(next.raw() == place);
        synchronize(cuda);
      }
      recording.replay();
      CHECK(sum.to_vector<float>() == std::vector<float>(5, 1.0f));
      CHECK((copy.to_vector<float>() == values.to_vector<float>()));
    }
  }
}

TEST_CASE("what cannot be recorded is refused by name, and the stream works on") {
  if (is_absent()) return;
  const DeviceStream stream(cuda);
  const StreamScope scope(stream.handle());
  const Tensor x = counting(7).to(cuda);
  const auto recorded = [](const std::function<void()>& f) {
    return error_of([&] { const Recording recording(cuda, f); });
  };
  CHECK(recorded([&] { x.to_vector<float>(); }).find("a copy between host and device") != std::string::npos);
  CHECK(recorded([&] { counting(7).to(cuda); }).find("cannot be part of a step") != std::string::npos);
  CHECK(recorded([&] { synchronize(cuda); }).find("waiting for the device") != std::string::npos);
  CHECK(recorded([&] { Tensor::empty({777777}, DType::f32, cuda); }).find("memory that no earlier step") !=
        std::string::npos);
  CHECK(add(x, x).to_vector<float>()[3] == 6);
}

TEST_CASE("the default stream, and the CPU, record nothing") {
  CHECK_FALSE(Recording::is_possible(cpu));
  if (is_absent()) return;
  CHECK_FALSE(Recording::is_possible(cuda));
  CHECK(error_of([] { const Recording recording(cuda, [] {}); }).find("records nothing") != std::string::npos);
}
