#include "engine/cpu/kernel_level.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "engine/context.h"
#include "engine/cpu/gemm.h"
#include "engine/cpu/onednn.h"
#include "engine/isa.h"

namespace headroom::engine {
namespace {

/// Numbers in [-1/2, 1/2) whose products round: multiples of 2^-24, by Knuth's multiplicative hash.
std::vector<float> operand(int64_t count, uint32_t salt) {
  std::vector<float> values(static_cast<size_t>(count));
  for (uint32_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(((i + salt) * 2654435761u) >> 8) / 16777216.0f - 0.5f;
  return values;
}

/// FNV-1a over the bits of products of few rows and many, short sums and long, in all layouts.
uint32_t fingerprint() {
  struct Shape {
    int64_t m, n, k;
  };
  constexpr std::array<Shape, 5> shapes{{{1, 33, 300}, {3, 100, 17}, {8, 48, 1000}, {40, 100, 300}, {130, 33, 64}}};
  Context plain;
  plain.threads = 1;
  const ContextScope scope(plain);
  uint32_t hash = 2166136261u;
  for (const auto& [m, n, k] : shapes)
    for (const bool a_transposed : {false, true})
      for (const bool b_transposed : {false, true}) {
        const std::vector<float> a = operand(m * k, 1), b = operand(k * n, 7);
        std::vector<float> c(static_cast<size_t>(m * n));
        gemm<float>({m,
                     n,
                     k,
                     {a.data(), a_transposed ? m : k, a_transposed},
                     {b.data(), b_transposed ? k : n, b_transposed},
                     c.data(),
                     n});
        for (const float value : c) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 16777619u;
      }
  return hash;
}

std::string find_products() {
  const float one = 1;
  float product = 0;
  const bool works = onednn_sgemm(false, false, 1, 1, 1, &one, 1, &one, 1, &product, 1);
  return fmt::format("{}, bits {:08x}", works ? "oneDNN " + onednn_version() : "own products", fingerprint());
}

}  // namespace

const std::string& products() {
  static const std::string found = find_products();
  return found;
}

const std::string& kernel_level() {
  static const std::string level = fmt::format("{}, {}", name_of(active_isa()), products());
  return level;
}

bool may_be_alike(const std::string& noted, const std::string& level) {
  return noted.empty() || noted == level || level.starts_with(noted + ", ");
}

}  // namespace headroom::engine
