#include "engine/parallel.h"
#include "engine/context.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <fmt/core.h>

#include "engine/error.h"
#include "engine/isa.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine;

namespace {

/// Runs one hidden test case of this program in a process of its own, because the environment is read once. A program
/// for another CPU than this one needs the emulator that Meson names.
bool passes_with(const std::string& environment, const std::string& test) {
  const char* emulator = std::getenv("MESON_EXE_WRAPPER");
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  return std::system(fmt::format("env -u HEADROOM_TALLY {} {} '{}' '{}' >/dev/null", environment,
                                 emulator ? emulator : "", self, test)
                         .c_str()) == 0;
}

}  // namespace

TEST_CASE("parallel_for: every index once, also nested and with nothing to do") {
  for (const int threads : {1, 2, 5}) {
    const ThreadScope scope(threads);
    std::vector<std::atomic<int>> seen(1000);
    parallel_for(10,
                 [&](int64_t i) { parallel_for(100, [&](int64_t j) { ++seen[static_cast<size_t>(100 * i + j)]; }); });
    CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& count) { return count == 1; }));
  }
  bool called = false;
  parallel_for(0, [&](int64_t) { called = true; });
  parallel_ranges(0, 16, [&](int64_t, int64_t) { called = true; });
  CHECK_FALSE(called);
}

TEST_CASE("parallel_ranges: the cut depends on n and grain alone") {
  for (const int threads : {1, 3}) {
    const ThreadScope scope(threads);
    std::vector<int64_t> ends(4, -1);
    parallel_ranges(1000, 300, [&](int64_t begin, int64_t end) { ends[static_cast<size_t>(begin / 300)] = end; });
    CHECK(ends == std::vector<int64_t>{300, 600, 900, 1000});
  }
}

TEST_CASE("parallel_for: an exception of a worker arrives, and the next loop works") {
  for (const int threads : {1, 3}) {
    const ThreadScope scope(threads);
    CHECK_THROWS_WITH(parallel_for(100,
                                   [](int64_t i) {
                                     if (i == 37) fail("task {}", i);
                                   }),
                      "task 37");
    CHECK_THROWS_AS(parallel_for(2, [](int64_t) { throw std::runtime_error("x"); }), std::runtime_error);
    std::atomic<int> count{0};
    parallel_for(100, [&](int64_t) { ++count; });
    CHECK(count == 100);
  }
}

TEST_CASE("ThreadScope limits this thread, and ends") {
  const int before = num_threads();
  {
    const ThreadScope scope(3);
    CHECK(num_threads() == 3);
    const ThreadScope inner(1);
    CHECK(num_threads() == 1);
  }
  CHECK(num_threads() == before);
  CHECK_THROWS_WITH(ThreadScope(0), "threads: 0 is not a positive number");
}

TEST_CASE("workers inherit the whole context, and a scope restores it") {
  const ThreadScope threads(3);
  const Context before = context();
  {
    const ReferenceScope reference;
    const ProductPathScope path(ProductPath::own);
    const PrecisionScope precision(Precision::bf16);
    std::atomic<int> same{0};
    parallel_for(64, [&](int64_t) {
      const Context& inside = context();
      same += inside.threads == 3 && inside.reference && inside.product_path == ProductPath::own &&
              inside.precision == Precision::bf16;
    });
    CHECK(same == 64);
  }
  CHECK(!context().reference);
  CHECK(context().product_path == before.product_path);
  CHECK(context().precision == before.precision);
  CHECK(context().threads == 3);
}

TEST_CASE("parallel_ranges: a grain below 1 is an error, an empty range nothing, and the last range the rest") {
  const auto none = [](int64_t, int64_t) { FAIL("called"); };
  CHECK_THROWS_WITH(parallel_ranges(10, 0, none), "parallel_ranges: ranges of 0 elements");
  CHECK_THROWS_AS(parallel_ranges(10, -3, none), Error);
  parallel_ranges(0, 4, none);
  parallel_ranges(-5, 4, none);
  const ThreadScope one(1);
  std::vector<int64_t> ends;
  parallel_ranges(10, 4, [&](int64_t, int64_t end) { ends.push_back(end); });
  parallel_ranges(3, INT64_MAX, [&](int64_t, int64_t end) { ends.push_back(end); });
  CHECK((ends == std::vector<int64_t>{4, 8, 10, 3}));
}

TEST_CASE("HEADROOM_THREADS is read, or refused", "[.threads-4]") { CHECK(num_threads() == 4); }
TEST_CASE("a wrong HEADROOM_THREADS is an error", "[.threads-wrong]") {
  CHECK_THROWS_WITH(num_threads(), testing::contains("HEADROOM_THREADS: '"));
}
TEST_CASE("HEADROOM_THREADS") {
  CHECK(passes_with("HEADROOM_THREADS=4", "[.threads-4]"));
  for (const char* wrong : {"0", "-1", "two", "2x", "99999999999999999999", ""})
    CHECK(passes_with(fmt::format("HEADROOM_THREADS='{}'", wrong), "[.threads-wrong]"));
}

TEST_CASE("a lower level is taken", "[.isa-portable]") { CHECK(active_isa() == Isa::portable); }
TEST_CASE("an unknown level is an error that lists the known", "[.isa-wrong]") {
  CHECK_THROWS_WITH(active_isa(), testing::contains("'sse9'") && testing::contains("avx512"));
}
TEST_CASE("a level above this CPU's is an error", "[.isa-amx]") {
  CHECK_THROWS_WITH(active_isa(), testing::contains("this CPU has no amx"));
}
TEST_CASE("HEADROOM_ISA") {
  CHECK(passes_with("HEADROOM_ISA=portable", "[.isa-portable]"));
  CHECK(passes_with("HEADROOM_ISA=sse9", "[.isa-wrong]"));
  if (detected_isa() < Isa::amx) CHECK(passes_with("HEADROOM_ISA=amx", "[.isa-amx]"));
  CHECK(available_isas().front() == Isa::portable);
  CHECK(available_isas().back() == detected_isa());
}
