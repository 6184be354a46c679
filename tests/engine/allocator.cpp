#include "engine/allocator.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/tensor.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine;

TEST_CASE("allocator: a freed block is used again, and nothing is asked of the system") {
  { const Tensor warm = Tensor::empty({1000}); }
  const AllocatorStats before = allocator_stats();
  for (int i = 0; i < 10; ++i) const Tensor x = Tensor::empty({1000 - i});
  const AllocatorStats after = allocator_stats();
  CHECK(after.system_allocations == before.system_allocations);
  CHECK(after.requests == before.requests + 10);
  CHECK(after.active == before.active);
  CHECK(after.cached == before.cached);
}

TEST_CASE("allocator: size classes are four to a doubling, blocks aligned to 64 bytes") {
  const int64_t before = allocator_stats().active;
  const auto held = [&](size_t bytes) {
    const Block block(cpu, bytes);
    CHECK(reinterpret_cast<uintptr_t>(block.address()) % 64 == 0);
    return allocator_stats().active - before;
  };
  CHECK(held(0) == 64);
  CHECK(held(1) == 64);
  CHECK(held(64) == 64);
  CHECK(held(65) == 80);
  CHECK(held(128) == 128);
  CHECK(held(129) == 160);
  CHECK(held(4096) == 4096);
  CHECK(held((size_t{3} << 20) + 1) == int64_t{7} << 19);
}

TEST_CASE("allocator: peak and empty_cache") {
  reset_peak();
  const int64_t base = allocator_stats().active;
  {
    const Tensor a = Tensor::empty({1 << 20});  // 4 MiB
    { const Tensor b = Tensor::empty({1 << 20}); }
    { const Tensor c = Tensor::empty({1 << 20}); }
  }
  CHECK(allocator_stats().peak == base + (int64_t{8} << 20));
  CHECK(allocator_stats().cached >= int64_t{8} << 20);
  reset_peak();
  CHECK(allocator_stats().peak == base);
  empty_cache();
  CHECK(allocator_stats().cached == 0);
  CHECK(allocator_stats().active == base);
}

TEST_CASE("allocator: what cannot be had is an error") {
  CHECK_THROWS_WITH(Block(cpu, size_t{1} << 62), testing::contains("allocator: cpu has no"));
  CHECK_THROWS_AS(Tensor::empty({int64_t{1} << 58}, DType::f64), Error);
}

TEST_CASE("allocator: threads share it") {
  const int64_t before = allocator_stats().active;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 2000; ++i) const Tensor x = Tensor::zeros({64 + (i * 7 + t) % 50});
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(allocator_stats().active == before);
}

TEST_CASE("allocator: a pool of its own keeps its blocks apart, and its tensors outlive it") {
  const AllocatorStats before = allocator_stats();
  Tensor kept;
  {
    MemoryPool pool(Device::Kind::cpu);
    {
      const PoolScope scope(pool);
      kept = Tensor::full({1000}, 2.5);
      const Tensor passing = Tensor::empty({1000});
      CHECK(pool.stats().requests == 2);
    }
    const Tensor outside = Tensor::empty({1000});
    CHECK(pool.stats().requests == 2);
    CHECK(pool.stats().cached == pool.stats().active);
    CHECK(allocator_stats().requests == before.requests + 1);
  }
  CHECK(kept.to_vector<float>() == std::vector<float>(1000, 2.5f));
}
