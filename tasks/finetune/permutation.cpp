#include "tasks/finetune/permutation.h"

#include <algorithm>
#include <utility>

#include "engine/rng.h"

namespace headroom::tasks {

std::vector<int64_t> permutation(int64_t count, const PermutationKey& key) {
  engine::Rng rng(key.seed);
  rng.set_offsets({{key.stream, static_cast<uint64_t>(key.index) * static_cast<uint64_t>((count + 3) / 4 * 4)}});
  const engine::RngKey values = rng.take(key.stream, count);
  std::vector<std::pair<uint32_t, int64_t>> order;
  for (int64_t i = 0; i < count; ++i) order.emplace_back(engine::random_bits(values, static_cast<uint64_t>(i)), i);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> out;
  for (const auto& [bits, i] : order) out.push_back(i);
  return out;
}

}  // namespace headroom::tasks
