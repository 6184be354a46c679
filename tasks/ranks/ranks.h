#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace headroom::tasks {

/// Seconds that a rank waits for another: within a step, in which all do the same work; and between trainings.
inline constexpr double patience_of_a_step = 600, endless_patience = std::numeric_limits<double>::infinity();

/// The processes that train one model together, seen from one of them. Rank 0 writes all output; the others compute the
/// same. Threads: one at a time.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool is_first() const { return rank() == 0; }
  /// Sends `out` to another rank while receiving `in` from it; an empty one is not transferred. Throws Error naming a
  /// rank that is gone or has not answered within `patience` seconds.
  virtual void exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in, double patience) = 0;
  /// The same for contiguous tensors on one device. On a GPU they go through host memory, unless the transport has its
  /// own way, which may only queue the exchange on the context's stream: call await_tensors() before the host waits for
  /// that stream in any other way, which would last for ever if a rank is gone.
  virtual void exchange_tensors(int peer, const engine::Tensor& out, const engine::Tensor& in, double patience);
  /// Waits for all exchanges of tensors on this device. Throws Error as exchange() does.
  virtual void await_tensors(engine::Device /*device*/, double /*patience*/) {}
};

/// Throws Error, listing the numbers of ranks that would do, unless `ranks` of them can share `parts` evenly.
void check_shares(int64_t parts, int ranks);

/// Broadcasts rank 0's text to every rank. Here and below, the number of ranks is a power of two.
std::string told_by_first(Ranks& ranks, std::string text, double patience);

/// The same for one bit, in one message per rank.
bool decided_by_first(Ranks& ranks, bool value, double patience);

/// Everything besides the program that the bits of a training on a device depend on: "kernels avx2, oneDNN 2.6.3, bits
/// 1a2b3c4d", on a GPU with ", on NVIDIA …".
std::string kernels_of(engine::Device device);

/// Throws Error naming this rank unless its text equals rank 0's: their bits depend on it.
void check_same(Ranks& ranks, const std::string& own);

/// Rank 0's file on every rank: the file itself on rank 0, a temporary copy elsewhere.
class FileOfFirst {
 public:
  /// `path` counts on rank 0; if it is empty or does not exist, path() is empty on all ranks. Throws Error naming a
  /// file that cannot be read or written.
  FileOfFirst(Ranks& ranks, const std::filesystem::path& path);
  ~FileOfFirst();
  FileOfFirst(const FileOfFirst&) = delete;
  FileOfFirst& operator=(const FileOfFirst&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool is_temporary_ = false;
};

/// Gathers the numbers of all ranks, in rank order, on every rank; each gives equally many.
std::vector<double> gathered(Ranks& ranks, const std::vector<double>& own);

/// Replaces flat (N), f32 or f64 on any device, by the sum over ranks along a binary tree: neighbours first, so that
/// ranks that each hold a subtree's sum get the bits of one process summing the whole tree. One rank sums each element,
/// level by level (recursive halving), and returns it the same way (doubling): each rank sends 2·N·(1 - 1/R) elements
/// in 2·log₂R messages (Thakur et al., "Optimization of collective communication operations in MPICH", 2005).
void sum_over(Ranks& ranks, const engine::Tensor& flat);

/// Sums the gradients of 2ᵏ parts of a batch along a binary tree, ((0 + 1) + (2 + 3)) + …, as they arrive: keeps k
/// tensors for any number of parts. Works on any device and in a recording.
class TreeSum {
 public:
  /// `parts` is a power of two; `like` has the gradients' shape, dtype and device.
  TreeSum(const engine::Tensor& like, int64_t parts);
  /// Adds the gradients of part `i`, in order from 0; overwrites those of the last part with the sum. They may also
  /// come in pieces (n), each with its offset `begin`.
  void add(const engine::Tensor& gradients, int64_t i, int64_t begin = 0) const;

 private:
  std::vector<engine::Tensor> levels_;  ///< [l]: the sum of 2ˡ parts, waiting for that of the next 2ˡ
};

}  // namespace headroom::tasks
