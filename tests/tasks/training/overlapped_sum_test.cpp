// The sum over ranks that goes on beside a backward pass: its buckets, its bits, and what it does when a rank fails.
#include <array>

#include "autograd/ops.h"
#include "tasks/ranks/overlapped_sum.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/thread_ranks.h"

using namespace headroom;
using namespace headroom::tasks;
using autograd::Parameter;
using autograd::ParameterArena;
using autograd::Var;
using engine::Tensor;
using testing::contains;
using testing::error_of;
using testing::ThreadRanks;

namespace {

/// Leaves in the order in which a model reads them; `idle` it does not read.
std::vector<Parameter> leaves() {
  const auto leaf = [](const char* name, int64_t n, bool decays) {
    return Parameter{name, Var(Tensor::zeros({n}), true), decays};
  };
  return {leaf("embedding", 13, true), leaf("norm1", 2, false), leaf("idle", 3, true), leaf("w1", 12, true),
          leaf("norm2", 2, false),     leaf("w2", 3, true),     leaf("head", 20, true)};
}

/// A loss of the leaves, with the embedding at both ends; no two of them are equal.
Var loss_of(const std::vector<Parameter>& leaves, uint64_t number) {
  Var loss(Tensor::full({}, 0));
  for (size_t i = 0; i <= leaves.size(); ++i) {
    const Var& leaf = leaves[i % leaves.size()].var;
    const Tensor factors = engine::random_normal(leaf.shape(), 0, 1, {8 * number + i, 0, 0});
    if (i != 2) loss = loss + autograd::sum(leaf * Var(factors));
  }
  return loss;
}

constexpr int64_t parts = 4;  // of a rank

/// The gradients of all parts of all ranks, with buckets of so many bytes; 0: after the backward passes.
std::vector<float> sum_of(Ranks& ranks, int64_t bytes) {
  const std::vector<Parameter> own = leaves();
  const ParameterArena arena(own);
  const TreeSum tree(arena.gradients(), parts);
  for (int64_t i = 0; i < parts; ++i) {
    arena.zero_grad();
    const Var loss = loss_of(own, static_cast<uint64_t>(ranks.rank() * parts + i));
    if (bytes > 0 && i + 1 == parts) {
      const std::vector<Bucket> buckets = buckets_of(arena, own, bytes);
      OverlappedSum overlapped(ranks, arena, tree, i, buckets);
      loss.backward([&](const Var& leaf) { overlapped.finish(leaf); });
      overlapped.wait();
    } else {
      loss.backward();
      tree.add(arena.gradients(), i);
    }
  }
  arena.keep_gradients();
  if (bytes == 0) sum_over(ranks, arena.gradients());
  return arena.gradients().to_vector<float>();
}

/// Another's transport, which fails after so many messages.
class Failing final : public Ranks {
 public:
  Failing(Ranks& under, int messages) : under_(under), left_(messages) {}
  int rank() const override { return under_.rank(); }
  int size() const override { return under_.size(); }
  void exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in, double patience) override {
    require(left_-- > 0, "the network is down");
    under_.exchange(peer, out, in, patience);
  }

 private:
  Ranks& under_;
  int left_;
};

}  // namespace

TEST_CASE("buckets: of a size, what a model reads last in front, and what begins again apart") {
  const std::vector<Parameter> own = leaves();
  const ParameterArena arena(own);  // embedding, idle, w1, w2, head, norm1, norm2
  std::vector<std::array<size_t, 2>> buckets;
  for (const Bucket& bucket : buckets_of(arena, own, 40)) buckets.push_back({bucket.first, bucket.end});
  CHECK((buckets == std::vector<std::array<size_t, 2>>{{3, 5}, {1, 3}, {5, 7}, {0, 1}}));
  CHECK(buckets_of(arena, own).size() == 2);
}

TEST_CASE("overlapped sum: the bits of the sum after the backward passes") {
  for (const int size : {2, 4, 8})
    ThreadRanks::run(size, [](Ranks& self) {
      const std::vector<float> expected = sum_of(self, 0);
      for (const int64_t bytes : {int64_t{1}, int64_t{40}, bucket_bytes})
        require(sum_of(self, bytes) == expected, "rank {} has another sum in buckets of {}", self.rank(), bytes);
    });
}

TEST_CASE("overlapped sum: a transport that fails within a bucket is the Error of all") {
  for (const int size : {2, 4}) {
    std::vector<std::string> errors(static_cast<size_t>(size));
    ThreadRanks::run(size, [&](Ranks& self) {
      Failing failing(self, self.rank() == 1 ? 3 : 1000);
      errors[static_cast<size_t>(self.rank())] = error_of([&] { sum_of(failing, 40); });
    });
    INFO(size << " ranks");
    CHECK(errors[1] == "the network is down");
    CHECK_THAT(errors[0], contains("is gone"));
    CHECK_THAT(errors.back(), contains(size == 2 ? "the network is down" : "is gone"));
  }
}

TEST_CASE("overlapped sum: a rank that fails in its backward pass is gone for the others") {
  for (const int size : {2, 4}) {
    std::vector<std::string> errors(static_cast<size_t>(size));
    ThreadRanks::run(size, [&](Ranks& self) {
      errors[static_cast<size_t>(self.rank())] = error_of([&] {
        const std::vector<Parameter> own = leaves();
        const ParameterArena arena(own);
        const TreeSum tree(arena.gradients(), 1);
        const std::vector<Bucket> buckets = buckets_of(arena, own, 40);
        OverlappedSum overlapped(self, arena, tree, 0, buckets);
        loss_of(own, 0).backward([&](const Var& leaf) {
          overlapped.finish(leaf);
          require(self.rank() != 1 || leaf.node() != own[5].var.node(), "no memory");
        });
        overlapped.wait();
      });
    });
    INFO(size << " ranks");
    CHECK(errors[1] == "no memory");
    CHECK_THAT(errors[0], contains("is gone"));
  }
}
