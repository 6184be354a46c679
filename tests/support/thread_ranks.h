#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "tasks/ranks/ranks.h"

// Ranks as threads of one process: what is sent waits in a queue until it is taken.
namespace headroom::testing {

class ThreadRanks {
 public:
  /// Runs f(ranks) as `size` ranks, each in a thread. What one throws ends it, as a rank that dies: those that wait for
  /// it get an Error. Throws the first that was thrown.
  static void run(int size, const std::function<void(tasks::Ranks&)>& f) {
    const auto post = std::make_shared<Post>();
    std::exception_ptr first;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        Rank self(post, rank, size);
        try {
          f(self);
        } catch (...) {
          const std::lock_guard lock(post->mutex);
          if (!first) first = std::current_exception();
        }
        const std::lock_guard lock(post->mutex);
        post->ended.push_back(rank);
        post->news.notify_all();
      });
    for (std::thread& thread : threads) thread.join();
    if (first) std::rethrow_exception(first);
  }

 private:
  struct Post {
    std::mutex mutex;
    std::condition_variable news;
    std::map<std::pair<int, int>, std::vector<std::vector<std::byte>>> sent;  ///< [from, to]
    std::vector<int> ended;
  };

  class Rank final : public tasks::Ranks {
   public:
    Rank(std::shared_ptr<Post> post, int rank, int size) : post_(std::move(post)), rank_(rank), size_(size) {}
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    void exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in, double) override {
      std::unique_lock lock(post_->mutex);
      if (!out.empty()) post_->sent[{rank_, peer}].emplace_back(out.begin(), out.end());
      post_->news.notify_all();
      if (in.empty()) return;
      auto& queue = post_->sent[{peer, rank_}];
      const auto is_gone = [&] {
        return std::find(post_->ended.begin(), post_->ended.end(), peer) != post_->ended.end();
      };
      post_->news.wait(lock, [&] { return !queue.empty() || is_gone(); });
      require(!queue.empty(), "rank {} is gone", peer);
      require(queue.front().size() == in.size(), "rank {} sent {} bytes, not {}", peer, queue.front().size(),
              in.size());
      std::memcpy(in.data(), queue.front().data(), in.size());
      queue.erase(queue.begin());
    }

   private:
    std::shared_ptr<Post> post_;
    int rank_, size_;
  };
};

}  // namespace headroom::testing
