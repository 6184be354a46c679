#pragma once
#include "engine/ops/attention/attention_wide.cuh"

// Products of f32 tiles of 128 rows and N columns by 128 threads, 8 × 16. Thread (tx, ty) keeps 8 rows and N / 8
// columns of the result, so that four 16-byte loads from shared memory feed 64 multiplications (N = 64). Operands come
// in slices of 16 of the inner axis; while one is multiplied, the next travels from memory to registers.
namespace headroom::engine::cuda {

inline constexpr int block_threads = 128, block_rows = 128, block_depth = 16;

/// True if all rows can be read 16 bytes at a time.
inline bool has_packed_rows(const Tensor& x) { return x.strides()[3] == 1 && heads_of<float>(x).packed; }
/// Itself or a copy, so that a call's bits do not depend on its operands' layout. The width is a multiple of 4.
inline Tensor with_packed_rows(const Tensor& x) { return has_packed_rows(x) ? x : x.clone(); }

/// Two slices of each operand, [inner][row or column]: one is read while the other is written. Lines have four extra
/// elements, so that lines a transposed slice writes at once start in different banks.
template <int N>
struct BlockMemory {
  alignas(16) float a[2][block_depth][block_rows + 4];
  alignas(16) float b[2][block_depth][N + 4];
};

/// A thread's place in its block.
struct BlockPlace {
  int tx = static_cast<int>(threadIdx.x) % 8, ty = static_cast<int>(threadIdx.x) / 8;
  /// The first row of group n; its rows and columns come in groups of four.
  __device__ int row(int n) const { return 64 * n + 4 * ty; }
  __device__ int column(int n) const { return 32 * n + 4 * tx; }
};

/// The position of four rows in a line of held weights, swizzled so that threads storing lines 4, 8, … apart at once
/// use different banks.
__device__ inline int block_held_row(int row, int line) { return row ^ (line / 4 % 8 * 4); }

/// The scores that count in a thread's part of 128 queries and N keys, by their place in BlockSum. Kept as bits and
/// distances to one number, because rules for each row would fill the registers.
template <bool drops, int N>
class BlockRules {
 public:
  __device__ BlockRules(const AttentionArguments<float>& a, const WindowedRules<float>& rules, int i0, int j0)
      : shift_(j0 - i0 - rules.offset),
        most_(rules.causal ? 0 : std::numeric_limits<int>::max()),
        least_(rules.window > 0 ? -rules.window : std::numeric_limits<int>::min()) {
    const BlockPlace place;
    shift_ += place.column(0) - place.row(0);
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
      const int j = j0 + place.column(n / 4) + n % 4;
      if (j < rules.keys && (!rules.mask || rules.mask[j])) keys_ |= 1u << n;
    }
    // Not unrolled, so that Philox's code is there once.
#pragma unroll 1
    for (int n = 0; drops && n < 8; ++n) {
      DropoutRow dropout(a, rules.row + i0 + place.row(n / 4) + n % 4);
#pragma unroll 1
      for (int m = 0; m < N / 32; ++m)
        kept_ |= uint64_t{dropout.kept(j0 + place.column(m), 4)} << (n * (N / 8) + 4 * m);
    }
  }
  /// True if the query sees the key.
  __device__ bool sees(int n, int r, int m, int c) const {
    const int shift = shift_ + 32 * m + c - 64 * n - r;
    return shift <= most_ && shift > least_ && (keys_ >> (4 * m + c) & 1);
  }
  /// True if dropout keeps the probability.
  __device__ bool keeps(int n, int r, int m, int c) const {
    return !drops || (kept_ >> ((4 * n + r) * (N / 8) + 4 * m + c) & 1);
  }

 private:
  int shift_, most_, least_;  ///< key - query as far as known here; seen in (least_, most_]
  uint32_t keys_ = 0;         ///< bit 4·m + c: the key exists, and no mask hides it
  uint64_t kept_ = 0;
};

/// A thread's part of a slice of `size` rows (or columns), moved from memory to shared memory. The operand is x with
/// the inner axis along its rows (`transposed`), or across them.
template <int size, bool transposed>
struct BlockSlice {
  static constexpr int quads = size * block_depth / 4 / block_threads, line = transposed ? block_depth / 4 : size / 4;
  static constexpr int rows_apart = block_threads / line;  ///< between the thread's quads
  Quad<float> held[quads];

  /// Loads from row `first` of the operand, at `inner` on; x is packed.
  __device__ void load(const Rows<float>& x, int first, int inner) {
    const int e = static_cast<int>(threadIdx.x), r = (transposed ? first : inner) + e / line,
              c = (transposed ? inner : first) + e % line * 4;
    // One moving address: one per quad would stay in registers from one product to the next.
    const float* at = x.first + r * x.step + c;
    const int64_t gap = rows_apart * x.step;
#pragma unroll
    for (int n = 0; n < quads; ++n, at += gap)
      held[n] = x.has(r + n * rows_apart, c) ? *reinterpret_cast<const Quad<float>*>(at) : Quad<float>{};
  }
  __device__ void store(float (&slice)[block_depth][size + 4]) const {
#pragma unroll
    for (int n = 0; n < quads; ++n) {
      const int e = static_cast<int>(threadIdx.x), r = e / line + n * rows_apart, c = e % line * 4;
      if constexpr (transposed) {
#pragma unroll
        for (int i = 0; i < 4; ++i) slice[c + i][r] = held[n].value[i];
      } else {
        *reinterpret_cast<Quad<float>*>(&slice[r][c]) = held[n];
      }
    }
  }
};

/// A thread's part of a result: rows place.row(n) … + 3 and columns place.column(m) … + 3.
template <int N>
struct BlockSum {
  float value[2][N / 32][4][4];

  __device__ void clear() {
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int m = 0; m < N / 32; ++m)
#pragma unroll
        for (int r = 0; r < 4; ++r)
#pragma unroll
          for (int c = 0; c < 4; ++c) value[n][m][r][c] = 0;
  }

  /// += Σ_k a_rk b_kc over k in [from, to): rows from `first_row` of a, columns from `first_column` of b. BlockSlice
  /// says how each lies in memory. `to` is a multiple of 16, or both are 0 from there on. All threads call it.
  template <bool a_transposed, bool b_transposed>
  __device__ void add(const Rows<float>& a, int first_row, const Rows<float>& b, int first_column, int from, int to,
                      BlockMemory<N>& memory) {
    if (from >= to) return;
    BlockSlice<block_rows, a_transposed> next_a;
    BlockSlice<N, b_transposed> next_b;
    next_a.load(a, first_row, from), next_b.load(b, first_column, from);
    __syncthreads();  // others may still read the previous product's slices
    next_a.store(memory.a[0]), next_b.store(memory.b[0]);
    __syncthreads();
    for (int k = from, at = 0; k < to; k += block_depth, at ^= 1) {
      const bool has_next = k + block_depth < to;
      if (has_next) next_a.load(a, first_row, k + block_depth), next_b.load(b, first_column, k + block_depth);
      multiply<false>(memory.a[at], memory.b[at], 0);
      if (!has_next) break;
      // Nobody reads these any more: all passed the barrier after the previous slice.
      next_a.store(memory.a[at ^ 1]), next_b.store(memory.b[at ^ 1]);
      __syncthreads();
    }
  }

  /// += Σ_k a_kr b_kc over k < depth: `held` has a's lines, shuffled by block_held_row(), and b lies across its rows.
  /// Barriers make both visible to all threads, which all call it.
  template <int depth>
  __device__ void add_held(const float (&held)[depth][block_rows + 4], const Rows<float>& b, int first_column,
                           float (&slices)[2][block_depth][N + 4]) {
    BlockSlice<N, false> next;
    next.load(b, first_column, 0);
    next.store(slices[0]);
    __syncthreads();
    for (int n = 0; n < depth / block_depth; ++n) {
      const bool has_next = n + 1 < depth / block_depth;
      if (has_next) next.load(b, first_column, (n + 1) * block_depth);
      multiply<true>(held + n * block_depth, slices[n % 2], n * block_depth);
      if (!has_next) break;
      next.store(slices[(n + 1) % 2]);
      __syncthreads();
    }
  }

  /// Multiplies the thread's row (n, r) by a factor.
  __device__ void scale(int n, int r, float factor) {
#pragma unroll
    for (int m = 0; m < N / 32; ++m)
#pragma unroll
      for (int c = 0; c < 4; ++c) value[n][m][r][c] *= factor;
  }

  /// Writes it times a factor to columns of `y`'s packed rows: from row first_row of its `count`, column first_column.
  template <class RowOf>
  __device__ void write(const RowOf& row_of, int first_row, int count, int first_column, int width,
                        float factor) const {
    const BlockPlace place;
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int row = first_row + place.row(n) + r;
        if (row >= count) continue;
        float* const y = row_of(row);
#pragma unroll
        for (int m = 0; m < N / 32; ++m) {
          const int column = first_column + place.column(m);
          const auto& x = value[n][m][r];
          if (column < width)
            *reinterpret_cast<Quad<float>*>(y + column) = {factor * x[0], factor * x[1], factor * x[2], factor * x[3]};
        }
      }
  }

 private:
  template <bool is_held>
  __device__ void multiply(const float (*a)[block_rows + 4], const float (*b)[N + 4], int first_line) {
    const BlockPlace place;
#pragma unroll
    for (int k = 0; k < block_depth; ++k) {
      Quad<float> x[2], y[N / 32];
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const int row = is_held ? block_held_row(place.row(n), first_line + k) : place.row(n);
        x[n] = *reinterpret_cast<const Quad<float>*>(&a[k][row]);
      }
#pragma unroll
      for (int m = 0; m < N / 32; ++m) y[m] = *reinterpret_cast<const Quad<float>*>(&b[k][place.column(m)]);
#pragma unroll
      for (int n = 0; n < 2; ++n)
#pragma unroll
        for (int m = 0; m < N / 32; ++m)
#pragma unroll
          for (int r = 0; r < 4; ++r)
#pragma unroll
            for (int c = 0; c < 4; ++c) value[n][m][r][c] += x[n].value[r] * y[m].value[c];
    }
  }
};

}  // namespace headroom::engine::cuda
