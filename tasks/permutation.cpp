#include "tasks/permutation.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace headroom::tasks {

engine::RngKey StreamBlock::key(int64_t count) const {
  engine::Rng rng(seed);
  rng.set_offsets({{stream, static_cast<uint64_t>(index) * static_cast<uint64_t>((count + 3) / 4 * 4)}});
  return rng.take(stream, count);
}

std::vector<int64_t> permutation(int64_t count, const StreamBlock& block) {
  const engine::RngKey values = block.key(count);
  std::vector<std::pair<uint32_t, int64_t>> order;
  for (int64_t i = 0; i < count; ++i) order.emplace_back(engine::random_bits(values, static_cast<uint64_t>(i)), i);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> out;
  for (const auto& [bits, i] : order) out.push_back(i);
  return out;
}

std::vector<int64_t> shuffled(int64_t count, const StreamBlock& block) {
  const engine::RngKey values = block.key(count);
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = count - 1; i > 0; --i) {
    const auto bits = static_cast<uint64_t>(engine::random_bits(values, static_cast<uint64_t>(i)));
    std::swap(order[static_cast<size_t>(i)], order[bits * static_cast<uint64_t>(i + 1) >> 32]);
  }
  return order;
}

}  // namespace headroom::tasks
