#include "tests/cuda/emulator/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/error.h"
#include "tests/cuda/emulator/device/threads.h"
#include "tests/cuda/emulator/warp.h"

namespace headroom::engine::cuda::emulator {
namespace {

constexpr unsigned every_lane = 0xffffffffu;

struct Product {
  float* d;
  const uint32_t* a;
  uint32_t b[2];
};

struct MatrixLoad {
  uint32_t* m;
  const bf16* row;
};

/// Element `half` (0 or 1) of a register.
float half_of(uint32_t pair, int half) {
  bf16 x;
  x.bits = static_cast<uint16_t>(pair >> (16 * half));
  return static_cast<float>(x);
}

/// d + Σ of eight products as an A100 adds them: terms aligned to the largest, one bit beyond its 24 kept, and the
/// sum's last bits cut off, too. None is rounded, so sums of one sign come out too small.
float add_products(float d, const float (&a)[8], const float (&b)[8]) {
  double terms[9] = {d}, largest = std::abs(terms[0]);
  for (int k = 0; k < 8; ++k) {
    terms[k + 1] = static_cast<double>(a[k]) * static_cast<double>(b[k]);
    largest = std::max(largest, std::abs(terms[k + 1]));
  }
  double sum = 0;
  for (const double term : terms) sum += term;
  if (!std::isfinite(sum) || largest == 0) return static_cast<float>(sum);
  const int kept = 24 - std::ilogb(largest);
  const double scale = std::ldexp(1.0, kept);
  int64_t total = 0;
  for (const double term : terms) total += static_cast<int64_t>(term * scale);
  const int64_t size = std::abs(total);
  const int beyond = std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(size))) - 24);
  const auto cut = static_cast<double>(size >> beyond << beyond);
  return static_cast<float>(std::copysign(std::ldexp(cut, -kept), static_cast<double>(total)));
}

void multiply(Lanes& lanes) {
  float a[2][16][8], b[2][8][8];  // halves of k; b by columns
  for (int lane = 0; lane < 32; ++lane) {
    const auto& own = *static_cast<const Product*>(lanes.payload[lane]);
    const int g = lane / 4, t = lane % 4;
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 4; ++i) a[i / 2][g + i % 2 * 8][2 * t + half] = half_of(own.a[i], half);
      for (int i = 0; i < 2; ++i) b[i][g][2 * t + half] = half_of(own.b[i], half);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    float* const d = static_cast<const Product*>(lanes.payload[lane])->d;
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 2; ++k) d[i] = add_products(d[i], a[k][lane / 4 + i / 2 * 8], b[k][lane % 4 * 2 + i % 2]);
  }
}

template <bool transposed>
void load(Lanes& lanes) {
  uint16_t matrices[4][8][8];
  for (int lane = 0; lane < 32; ++lane)
    std::memcpy(matrices[lane / 8][lane % 8], static_cast<const MatrixLoad*>(lanes.payload[lane])->row, 16);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int g = lane / 4, t = lane % 4;
      const uint16_t first = transposed ? matrices[i][2 * t][g] : matrices[i][g][2 * t];
      const uint16_t second = transposed ? matrices[i][2 * t + 1][g] : matrices[i][g][2 * t + 1];
      static_cast<const MatrixLoad*>(lanes.payload[lane])->m[i] = static_cast<uint32_t>(second) << 16 | first;
    }
}

struct Copy {
  void* shared;
  const void* global;
  int bytes;
};
/// A thread's batches that have not landed, and its copies after the last of them.
struct Copies {
  std::vector<std::vector<Copy>> batches;
  std::vector<Copy> open;
};

/// Those of the threads of the block that runs: kernels run one at a time.
std::vector<Copies> all_copies;

Copies& own_copies() {
  const size_t thread = threadIdx.x + size_t{blockDim.x} * (threadIdx.y + size_t{blockDim.y} * threadIdx.z);
  if (all_copies.size() <= thread) all_copies.resize(thread + 1);
  return all_copies[thread];
}

void require_aligned(const char* what, const void* address, size_t bytes) {
  require(reinterpret_cast<uintptr_t>(address) % bytes == 0, "{}: address {} is not a multiple of {}", what, address,
          bytes);
}

}  // namespace

void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, std::source_location where) {
  Product own{d, a, {b0, b1}};
  warp_collective(every_lane, &own, {"mma_m16n8k16", where}, multiply);
}

void load_matrices(uint32_t (&m)[4], const bf16* row, bool transposed, std::source_location where) {
  require_aligned("load_matrices", row, 16);
  MatrixLoad own{m, row};
  warp_collective(every_lane, &own, {"load_matrices", where}, transposed ? load<true> : load<false>);
}

void copy_async(void* shared, const void* global, int bytes) {
  require_aligned("copy_async to", shared, static_cast<size_t>(bytes));
  require_aligned("copy_async from", global, static_cast<size_t>(bytes));
  own_copies().open.push_back({shared, global, bytes});
}

void commit_copies() {
  Copies& own = own_copies();
  own.batches.push_back(std::move(own.open));
  own.open.clear();
}

void wait_for_copies(int pending) {
  Copies& own = own_copies();
  while (own.batches.size() > static_cast<size_t>(pending)) {
    for (const Copy& copy : own.batches.front()) {
      if (copy.global) std::memcpy(copy.shared, copy.global, static_cast<size_t>(copy.bytes));
      else std::memset(copy.shared, 0, static_cast<size_t>(copy.bytes));
    }
    own.batches.erase(own.batches.begin());
  }
}

void forget_copies() { all_copies.clear(); }

}  // namespace headroom::engine::cuda::emulator
