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

/// Seconds that a rank waits for another within a step, in which all do the same work; and between trainings.
inline constexpr double patience_of_a_step = 600, endless_patience = std::numeric_limits<double>::infinity();

/// The processes that train one model together, as one of them sees the others. Number 0 writes whatever is kept; the
/// others compute what it computes. Threads: one at a time.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool is_first() const { return rank() == 0; }
  /// Sends `out` to another rank and takes what that sends, at once; either may be empty, and then nothing goes that
  /// way. Throws Error naming the rank that is gone, or has not answered within `patience` seconds.
  virtual void exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in, double patience) = 0;
  /// The same of contiguous tensors, both on one device. Where that is not the CPU they go through host memory, unless
  /// the transport has a way of its own.
  virtual void exchange_tensors(int peer, const engine::Tensor& out, const engine::Tensor& in, double patience);
};

/// Throws Error, with the numbers of ranks that would do, unless `ranks` of them can share `parts` evenly.
void check_shares(int64_t parts, int ranks);

/// The text of rank 0, on every rank. The number of ranks is a power of two, here and below.
std::string told_by_first(Ranks& ranks, std::string text, double patience);

/// The same of one bit, in one message per rank.
bool decided_by_first(Ranks& ranks, bool value, double patience);

/// What the bits of a training on a device depend on beside the program: "kernels avx2, oneDNN 2.6.3, bits 1a2b3c4d",
/// on a GPU with ", on NVIDIA …".
std::string kernels_of(engine::Device device);

/// Throws Error naming this rank unless it has the same text as rank 0: what their bits depend on.
void check_same(Ranks& ranks, const std::string& own);

/// A file of rank 0's on every rank: there the file itself, elsewhere a temporary one of the same bytes.
class FileOfFirst {
 public:
  /// `path` counts on rank 0; where it is empty or there is no such file, path() is empty on all. Throws Error naming
  /// the file that cannot be read or written.
  FileOfFirst(Ranks& ranks, const std::filesystem::path& path);
  ~FileOfFirst();
  FileOfFirst(const FileOfFirst&) = delete;
  FileOfFirst& operator=(const FileOfFirst&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool is_temporary_ = false;
};

/// The numbers of all ranks, in their order, on every rank; each brings as many.
std::vector<double> gathered(Ranks& ranks, const std::vector<double>& own);

/// flat (N), f32 or f64 on any device, becomes the sum of all ranks' along a binary tree: neighbours first, so that
/// ranks that each hold the sum of a subtree get the bits of one process that sums the whole tree. Each element is
/// summed by one rank, level by level (recursive halving), and handed back the same way (doubling): 2·N·(1 - 1/R)
/// elements are sent per rank, in 2·log₂R messages (Thakur et al., "Optimization of collective communication operations
/// in MPICH", 2005).
void sum_over(Ranks& ranks, const engine::Tensor& flat);

}  // namespace headroom::tasks
