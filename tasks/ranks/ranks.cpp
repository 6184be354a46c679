#include "tasks/ranks/ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "engine/cpu/kernel_level.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/transfer.h"
#include "models/files/atomic_file.h"
#include "models/files/regular_file.h"

namespace headroom::tasks {
namespace {

using engine::Tensor;

size_t flat_bytes(const Tensor& flat) { return static_cast<size_t>(flat.numel() * size_of(flat.dtype())); }
std::span<const std::byte> bytes_from(const Tensor& flat) {
  return {static_cast<const std::byte*>(flat.raw()), flat_bytes(flat)};
}
std::span<std::byte> bytes_into(const Tensor& flat) {
  return {static_cast<std::byte*>(flat.mutable_raw()), flat_bytes(flat)};
}

/// Elements [begin, end) of a flat tensor, and their two halves: the first is that of the lower of two partners.
struct Part {
  int64_t begin, end;
  Part half(bool is_upper) const {
    const int64_t middle = begin + (end - begin) / 2;
    return is_upper ? Part{middle, end} : Part{begin, middle};
  }
  Tensor of(const Tensor& flat) const { return flat.slice(0, begin, end); }
};

/// The bytes of rank 0 reach twice as many ranks in every round.
void spread_bytes(Ranks& ranks, std::span<std::byte> bytes, double patience) {
  const int own = ranks.rank();
  for (int reached = 1; reached < ranks.size(); reached *= 2)
    if (own < reached) ranks.exchange(own + reached, bytes, {}, patience);
    else if (own < 2 * reached) ranks.exchange(own - reached, {}, bytes, patience);
}

}  // namespace

void Ranks::exchange_tensors(int peer, const Tensor& out, const Tensor& in, double patience) {
  const Tensor taken = in.device().is_cpu() ? in : Tensor::empty(in.shape(), in.dtype());
  exchange(peer, bytes_from(out.to(engine::cpu)), bytes_into(taken), patience);
  if (!in.device().is_cpu()) engine::copy_inplace(in, taken);
}

void check_shares(int64_t parts, int ranks) {
  const auto count = static_cast<uint64_t>(parts);
  require(parts >= 1 && std::has_single_bit(count), "train.parts: {} is not a power of two", parts);
  if (ranks >= 1 && parts % ranks == 0) return;
  std::string fitting = "1";
  for (int64_t size = 2; size <= parts; size *= 2) fitting += (size == parts ? " or " : ", ") + std::to_string(size);
  fail("{} ranks cannot share train.parts = {} evenly: expected {}", ranks, parts, fitting);
}

std::string told_by_first(Ranks& ranks, std::string text, double patience) {
  uint64_t size = text.size();
  spread_bytes(ranks, std::as_writable_bytes(std::span(&size, 1)), patience);
  text.resize(size);
  if (size > 0) spread_bytes(ranks, std::as_writable_bytes(std::span(text)), patience);
  return text;
}

bool decided_by_first(Ranks& ranks, bool value, double patience) {
  spread_bytes(ranks, std::as_writable_bytes(std::span(&value, 1)), patience);
  return value;
}

std::string kernels_of(engine::Device device) {
  const std::string kernels = fmt::format("kernels {}", engine::kernel_level());
  return device.is_cpu() ? kernels : kernels + ", on " + engine::cuda_status();
}

void check_same(Ranks& ranks, const std::string& own) {
  const std::string first = told_by_first(ranks, own, endless_patience);
  require(own == first, "rank {} has {}; rank 0 has {}: their bits may differ", ranks.rank(), own, first);
}

FileOfFirst::FileOfFirst(Ranks& ranks, const std::filesystem::path& path) {
  const bool is_there = ranks.is_first() && !path.empty() && std::filesystem::exists(path);
  const std::string bytes =
      told_by_first(ranks, is_there ? models::read_file(path, models::any_file) : "", endless_patience);
  if (bytes.empty()) return;
  is_temporary_ = !ranks.is_first();
  path_ = is_temporary_
              ? std::filesystem::temp_directory_path() / fmt::format("headroom-{}-rank-{}.tmp", getpid(), ranks.rank())
              : path;
  if (is_temporary_) models::write_file(path_, bytes);
}

FileOfFirst::~FileOfFirst() {
  std::error_code error;
  if (is_temporary_) std::filesystem::remove(path_, error);
}

std::vector<double> gathered(Ranks& ranks, const std::vector<double>& own) {
  const size_t count = own.size();
  std::vector<double> all(count * static_cast<size_t>(ranks.size()));
  std::copy(own.begin(), own.end(), all.begin() + static_cast<int64_t>(count) * ranks.rank());
  for (int there = 1; there < ranks.size(); there *= 2) {
    // So far both partners have neighbouring blocks of `there` ranks.
    const auto block = [&](int rank) {
      return std::span(all).subspan(count * static_cast<size_t>(rank / there * there),
                                    count * static_cast<size_t>(there));
    };
    const int peer = ranks.rank() ^ there;
    ranks.exchange(peer, std::as_bytes(block(ranks.rank())), std::as_writable_bytes(block(peer)), patience_of_a_step);
  }
  return all;
}

void sum_over(Ranks& ranks, const Tensor& flat) {
  const int own = ranks.rank();
  const Tensor theirs = Tensor::empty({(flat.numel() + 1) / 2}, flat.dtype(), flat.device());
  std::vector<Part> parts{{0, flat.numel()}};  // that this rank sums, level by level
  const auto is_upper = [&](int distance) { return (own & distance) != 0; };
  for (int distance = 1; distance < ranks.size(); distance *= 2) {
    const Part whole = parts.back(), mine = whole.half(is_upper(distance)), other = whole.half(!is_upper(distance));
    const Tensor in = theirs.slice(0, 0, mine.end - mine.begin);
    ranks.exchange_tensors(own ^ distance, other.of(flat), in, patience_of_a_step);
    engine::add_inplace(mine.of(flat), in);
    parts.push_back(mine);
  }
  for (int distance = ranks.size() / 2; distance >= 1; distance /= 2) {
    const Part mine = parts.back();
    parts.pop_back();
    const Part other = parts.back().half(!is_upper(distance));
    ranks.exchange_tensors(own ^ distance, mine.of(flat), other.of(flat), patience_of_a_step);
  }
  ranks.await_tensors(flat.device(), patience_of_a_step);
}

TreeSum::TreeSum(const Tensor& like, int64_t parts) {
  for (int64_t i = 1; i < parts; i *= 2) levels_.push_back(Tensor::empty(like.shape(), like.dtype(), like.device()));
}

void TreeSum::add(const Tensor& gradients, int64_t i, int64_t begin) const {
  const auto there = [&](size_t level) { return levels_[level].slice(0, begin, begin + gradients.dim(0)); };
  size_t level = 0;
  for (; (i >> level) % 2 == 1; ++level) engine::add_inplace(gradients, there(level));
  if (level < levels_.size()) engine::copy_inplace(there(level), gradients);
}

}  // namespace headroom::tasks
