// Tensors between ranks over NCCL: the program's module on a stand-in for NCCL (tests/cuda/nccl), the emulated card,
// and ranks that are threads.
#include "experiments/program/ranks/ranks.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/error.h"
#include "experiments/program/ranks/nccl_calls.h"
#include "tests/support/environment.h"
#include "tests/support/thread_ranks.h"
#include "tests/tasks/training/fixture.h"

using namespace headroom;
using namespace headroom::experiments;
using engine::Tensor;
using testing::contains;
using testing::cuda;
using testing::ThreadRanks;

namespace {

const HeadroomNccl& nccl() {
  static const HeadroomNccl* const calls = [] {
    if (!dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL)) fail("{}", dlerror());
    void* const module = dlopen(std::getenv("HEADROOM_NCCL_MODULE"), RTLD_NOW);
    if (!module) fail("{}", dlerror());
    return reinterpret_cast<HeadroomStartNccl>(dlsym(module, headroom_start_nccl_name))();
  }();
  return *calls;
}

/// Others' ranks, as the transport below NCCL. Counts the tensors of a GPU that go through it.
class Below final : public tasks::Ranks {
 public:
  Below(tasks::Ranks& ranks, std::atomic<int>& staged) : ranks_(ranks), staged_(staged) {}
  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  void exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in, double patience) override {
    ranks_.exchange(peer, out, in, patience);
  }
  void exchange_tensors(int peer, const Tensor& out, const Tensor& in, double patience) override {
    if (out.device() == cuda) ++staged_;
    Ranks::exchange_tensors(peer, out, in, patience);
  }

 private:
  tasks::Ranks& ranks_;
  std::atomic<int>& staged_;
};

using Shared = std::function<void(tasks::Ranks& over, const std::string& way, tasks::Ranks& below)>;

/// Runs f as `size` ranks, each on a stream of its own, of which `without` has no NCCL. Returns how many tensors went
/// below it.
int run(int size, const Shared& f, int without = -1) {
  std::atomic<int> staged = 0;
  ThreadRanks::run(size, [&](tasks::Ranks& self) {
    const engine::DeviceStream stream(cuda);
    const engine::StreamScope on_stream(stream.handle());
    std::string way;
    const auto over = over_nccl(std::make_unique<Below>(self, staged), self.rank() == without ? nullptr : &nccl(),
                                self.rank() == without ? "no module" : "", way);
    f(*over, way, self);
  });
  return staged;
}

/// That sums over the ranks are those that the CPU's transport has.
void check_sums(tasks::Ranks& over, tasks::Ranks& below) {
  for (const int64_t n : {1, 5, 1000}) {
    std::vector<float> own;
    for (int64_t i = 0; i < n; ++i) own.push_back(1.0F / static_cast<float>(1 + i + 7 * over.rank()));
    const Tensor there = Tensor::from<float>({n}, own).to(cuda), here = Tensor::from<float>({n}, own);
    tasks::sum_over(over, there);
    tasks::sum_over(below, here);
    require(there.to(engine::cpu).to_vector<float>() == here.to_vector<float>(), "rank {} of {} has another sum",
            over.rank(), over.size());
  }
}

bool is_absent() {
  if (std::getenv("HEADROOM_NCCL_MODULE")) return false;
  testing::skip("a build without NCCL's header");
  return true;
}

}  // namespace

TEST_CASE("NCCL: tensors of a GPU go over it alone, and sums have the tree's order") {
  if (is_absent()) return;
  for (const int size : {2, 4})
    CHECK(run(size, [](tasks::Ranks& over, const std::string& way, tasks::Ranks& below) {
            require(way.starts_with("over NCCL 2."), "{}", way);
            check_sums(over, below);
          }) == 0);
}

TEST_CASE("NCCL: the host waits once for all messages of a sum") {
  if (is_absent()) return;
  class Counted final : public tasks::Ranks {
   public:
    explicit Counted(tasks::Ranks& ranks) : ranks_(ranks) {}
    int rank() const override { return ranks_.rank(); }
    int size() const override { return ranks_.size(); }
    void exchange(int, std::span<const std::byte>, std::span<std::byte>, double) override { fail("not a tensor"); }
    void exchange_tensors(int peer, const Tensor& out, const Tensor& in, double patience) override {
      calls += 'x';
      ranks_.exchange_tensors(peer, out, in, patience);
    }
    void await_tensors(engine::Device device, double patience) override {
      ranks_.await_tensors(device, patience);
      calls += engine::is_idle(device) ? 'w' : '?';
    }
    std::string calls{};

   private:
    tasks::Ranks& ranks_;
  };
  run(4, [](tasks::Ranks& over, const auto&, auto&) {
    Counted counted(over);
    tasks::sum_over(counted, Tensor::zeros({100}, engine::DType::f32, cuda));
    require(counted.calls == "xxxxw", "rank {}: {}", over.rank(), counted.calls);
  });
}

TEST_CASE("NCCL: a training has the bits of one process") {
  if (is_absent()) return;
  std::vector<std::vector<float>> all;
  std::mutex mutex;
  const auto train = [&](tasks::Ranks* ranks) {
    tasks::TrainerConfig config = testing::small_settings(cuda);
    config.parts = 4;
    config.ranks = ranks;
    testing::Training training(config);
    const std::vector<float> weights = training.run(5).weights();
    const std::lock_guard lock(mutex);
    all.push_back(weights);
  };
  train(nullptr);
  for (const int size : {2, 4}) run(size, [&](tasks::Ranks& over, const auto&, auto&) { train(&over); });
  REQUIRE(all.size() == 7);
  for (const std::vector<float>& weights : all) CHECK((weights == all[0]));
}

TEST_CASE("NCCL: a rank that is gone is an error in its words, and so is every exchange after it") {
  if (is_absent()) return;
  std::vector<std::string> errors;
  run(2, [&](tasks::Ranks& over, const auto&, auto&) {
    if (over.rank() == 1) return;
    const Tensor out = Tensor::zeros({4}, engine::DType::f32, cuda), in = out.clone();
    for (int i = 0; i < 2; ++i) try {
        over.exchange_tensors(1, out, in, 60);
      } catch (const Error& error) {
        errors.emplace_back(error.what());
      }
  });
  REQUIRE(errors.size() == 2);
  CHECK_THAT(errors[0], contains("rank 0: NCCL: remote process exited"));
  CHECK_THAT(errors[0], contains("rank 1 has closed its socket"));
  CHECK(errors[1] == "rank 0: NCCL has ended with an earlier error");
}

TEST_CASE("NCCL: one that does not answer is an error after the patience") {
  if (is_absent()) return;
  const auto waits = [&] {
    run(2, [&](tasks::Ranks& over, const auto&, tasks::Ranks& below) {
      std::byte end{};
      if (over.rank() == 1) return below.exchange(0, {}, {&end, 1}, 60);
      const Tensor out = Tensor::zeros({4}, engine::DType::f32, cuda), in = out.clone();
      over.exchange_tensors(1, out, in, 1);
    });
  };
  CHECK_THROWS_WITH(waits(), "rank 0: rank 1 has not answered for 1 s (NCCL)");
}

TEST_CASE("NCCL: where it refuses, or a rank has none, tensors go through host memory") {
  if (is_absent()) return;
  {
    const testing::Environment refuses("STAND_IN_REFUSES", "1");
    const int staged = run(2, [](tasks::Ranks& over, const std::string& way, tasks::Ranks& below) {
      require(way.starts_with(fmt::format("through host memory: rank {}: NCCL: ", over.rank())) &&
                  way.ends_with("Duplicate GPU detected"),
              "{}", way);
      check_sums(over, below);
    });
    CHECK(staged > 0);
  }
  const int staged = run(
      4,
      [](tasks::Ranks& over, const std::string& way, tasks::Ranks& below) {
        require(
            way == (over.rank() == 2 ? "through host memory: no module" : "through host memory: rank 2 has no NCCL"),
            "{}", way);
        check_sums(over, below);
      },
      2);
  CHECK(staged > 0);
}
