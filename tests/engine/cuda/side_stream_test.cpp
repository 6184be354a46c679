// Work beside a recorded step's main stream, in many orders: right numbers where edges and memory are kept, and wrong
// ones as soon as one is missing.
#include <functional>

#include "engine/recording.h"
#include "engine/side_stream.h"
#include "engine/tensor.h"
#include "tests/engine/cuda/emulated.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using namespace headroom::testing;
using namespace engine;

constexpr Device gpu{Device::Kind::cuda, 0};
constexpr int64_t count = 1001;

__global__ void copy_numbers(const float* x, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = x[i];
}

Tensor filled(double value) { return Tensor::full({count}, value, DType::f32, gpu); }

/// How many of 40 runs of f, the first two op by op and the others replayed, leave another number than 3 in y (1001).
int wrong_runs(const std::function<void(const Tensor& y)>& f) {
  const DeviceStream stream(gpu);
  const StreamScope scope(stream.handle());
  const Tensor y = filled(0);
  Recorder recorder(gpu);
  int wrong = 0;
  for (int run = 0; run < 40; ++run) {
    copy_inplace(y, filled(0));
    recorder.run([&] { f(y); });
    const std::vector<float> got = y.to_vector<float>();
    wrong += got != std::vector<float>(count, 3.0f);
  }
  CHECK(recorder.turn() == Recorder::Turn::replayed);
  return wrong;
}

}  // namespace

TEST_CASE("what work aside uses is neither given to other work nor written to before the join") {
  if (!uses_side_stream()) return skip("HEADROOM_SIDE_STREAM=off");
  CHECK(wrong_runs([](const Tensor& y) {
          Tensor x = filled(3);
          {
            const SideScope side;
            copy_inplace(y, x);
          }
          CHECK_FALSE(x.is_unique());
          x = Tensor();
          const Tensor next = filled(5);
          join_side();
          CHECK(filled(7).is_unique());
        }) == 0);
  // The same, but nobody is told what the kernel reads: its block goes to `next` while it waits.
  CHECK(wrong_runs([](const Tensor& y) {
          Tensor x = filled(3);
          {
            const SideScope side;
            cuda::launch_kernel("copy_numbers", copy_numbers, {1, 1}, x.data<float>(), y.mutable_data<float>());
          }
          x = Tensor();
          const Tensor next = filled(5);
          join_side();
        }) > 5);
}

TEST_CASE("work aside comes after what was queued before it, and before what follows the join") {
  if (!uses_side_stream()) return skip("HEADROOM_SIDE_STREAM=off");
  const auto copied = [](bool joins) {
    return wrong_runs([joins](const Tensor& y) {
      const Tensor x = filled(3), z = filled(0);
      {
        const SideScope side;
        copy_inplace(z, x);
        const SideScope same;  // within the other
        copy_inplace(z, z.clone());
      }
      if (joins) join_side();
      copy_inplace(y, z);
      join_side();
    });
  };
  CHECK(copied(true) == 0);
  CHECK(copied(false) > 5);
}

TEST_CASE("a block of the side stream goes back to it, and more than is held makes the main stream wait") {
  const DeviceStream stream(gpu);
  const StreamScope scope(stream.handle());
  for (const int64_t most_held : {int64_t{1}, int64_t{1} << 20}) {
    MemoryPool pool(Device::Kind::cuda);
    const PoolScope in_pool(pool);
    SideStream side(gpu, most_held);
    const Tensor y = filled(0);
    for (const uint64_t seed : seeds) {
      cuda::emulator::set_seed(seed);
      const SideStream::Use use(side);
      const void* made_aside = nullptr;
      for (int i = 0; i < 10; ++i) {
        const Tensor x = filled(i);
        const SideScope on_side;
        const Tensor sum = x.clone();
        if (i > 0) CHECK(sum.raw() == made_aside);
        made_aside = sum.raw();
        copy_inplace(y, sum);
      }
      join_side();
      CHECK(y.to_vector<float>() == std::vector<float>(count, 9.0f));
    }
    // Beside y and a clone: blocks of x that are not free before the join, or two that take turns.
    CHECK(pool.stats().reserved() / (y.numel() * 4) == (most_held == 1 ? 4 : 12));
  }
}

TEST_CASE("an error between fork and join leaves both streams usable") {
  const DeviceStream stream(gpu);
  const StreamScope scope(stream.handle());
  Recorder recorder(gpu);
  const Tensor y = filled(0), x = filled(3);
  for (const bool fails : {false, false, true, true, false}) {
    const auto run = [&] {
      recorder.run([&] {
        const SideScope side;
        copy_inplace(y, x);
        if (fails) fail("given up");
      });
    };
    if (fails) CHECK_THROWS_WITH(run(), "given up");
  }
  recorder.run([&] {
    {
      const SideScope side;
      copy_inplace(y, x);
    }
    join_side();
  });
  CHECK(y.to_vector<float>() == std::vector<float>(count, 3.0f));
}
