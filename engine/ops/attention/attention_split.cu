#include "engine/ops/attention/attention_cache_rows.cuh"
#include "engine/ops/attention/attention_cuda.h"

// Few queries against a long cache of keys, as decoding asks for: what counts is that keys and values are read once, by
// as many blocks as there can be. A block takes one chunk of the keys of one key-value head, and up to R rows, each a
// query of one of the heads that share it: a thread has a key, then a warp has a row, then a thread has a column of
// the values. A second kernel joins the chunks' parts, in order. A chunk without keys adds nothing, so that the number
// of keys may be on the device, and the chunks be those of all the memory.
namespace headroom::engine::cuda {
namespace {

constexpr int split_threads = 128, split_chunk = 128;  // one key per thread

/// A part's numbers: sums (R, d_v), then each row's largest score, then its sum of exponentials.
template <int R>
__host__ __device__ constexpr int64_t part_size(int64_t v_dim) {
  return R * (v_dim + 2);
}

/// How many of `capacity` keys there are: all where `length` is null.
__device__ inline int keys_held(const int64_t* length, int capacity) {
  if (!length || *length > capacity) return capacity;
  return *length < 0 ? 0 : static_cast<int>(*length);
}

template <class T, int R, class Cache>
__global__ void split_part(AttentionArguments<T> a, Cache k, Cache v, const int64_t* length, Compute<T>* parts,
                           int chunks, int row_blocks) {
  using C = Compute<T>;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % warp_size, warp = thread / warp_size;
  const int block = static_cast<int>(blockIdx.x), chunk = block % chunks, kv_heads = a.heads / a.group;
  const int kv_head = block / chunks / row_blocks % kv_heads, b = block / chunks / row_blocks / kv_heads;
  const int first_row = block / chunks % row_blocks * R, rows = a.group * a.q.tokens;
  const int keys = keys_held(length, k.tokens);
  const int first_key = chunk * split_chunk, left = smaller(split_chunk, keys - first_key);
  // The window hides whole chunks from all queries where it hides them from the first.
  const int hidden = a.window > 0 ? keys - a.q.tokens + 1 - a.window : 0;
  const int count = first_key + left <= hidden ? 0 : left;
  const int qk_dim = a.q.width, v_dim = v.width;
  C* const q = dynamic_shared<C>();     // (R, d_qk)
  C* const p = q + R * qk_dim;          // (R, chunk)
  C* const sums = p + R * split_chunk;  // (shares, R, columns)
  const auto query = [&](int r) { return (first_row + r) % a.q.tokens; };
  const auto head = [&](int r) { return kv_head * a.group + (first_row + r) / a.q.tokens; };
  for (int e = thread; e < R * qk_dim; e += split_threads) {
    const int r = e / qk_dim;
    q[e] = first_row + r < rows ? a.score_scale() * load(a.q.row(b, query(r), head(r))[e % qk_dim]) : C(0);
  }
  __syncthreads();
  C s[R];
  if (thread < count) k.visit([&](const auto& in) { in.products(q, in.row(b, first_key + thread, kv_head), s); });
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const bool is_there = thread < count && first_row + r < rows;
    p[r * split_chunk + thread] =
        is_there ? WindowedRules<T>(a, b, head(r), keys).score(s[r], query(r), first_key + thread) : -infinity<C>;
  }
  __syncthreads();
  C* const part = parts + block * part_size<R>(v_dim);
  for (int r = warp; r < R; r += split_threads / warp_size) {
    C top = least_top<C>, total = 0;
    for (int n = lane; n < split_chunk; n += warp_size) top = Larger{}(p[r * split_chunk + n], top);
    top = warp_reduce(top, Larger{});
    for (int n = lane; n < split_chunk; n += warp_size) {
      const C e = std::exp2(p[r * split_chunk + n] - top);
      p[r * split_chunk + n] = e;
      total += e;
    }
    total = warp_reduce(total, Add{});
    if (lane == 0) part[R * v_dim + r] = top, part[R * v_dim + R + r] = total;
  }
  __syncthreads();
  // Narrow values: several threads share a column, each takes every shares-th key.
  const int columns = smaller(v_dim, split_threads), shares = split_threads / columns, share = thread / columns;
  for (int c = thread % columns; c < v_dim && share < shares; c += columns) {
    C sum[R];
#pragma unroll
    for (int r = 0; r < R; ++r) sum[r] = 0;
    v.visit([&](const auto& in) {
      for (int n = share; n < count; n += shares) {
        const C x = in.at(in.row(b, first_key + n, kv_head), c);
#pragma unroll
        for (int r = 0; r < R; ++r) sum[r] += p[r * split_chunk + n] * x;
      }
    });
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (shares == 1) part[r * v_dim + c] = sum[r];
      else sums[(share * R + r) * columns + c] = sum[r];
    }
  }
  if (shares == 1) return;
  __syncthreads();
  for (int e = thread; e < R * v_dim; e += split_threads) {
    C sum = 0;
    for (int n = 0; n < shares; ++n) sum += sums[n * R * v_dim + e];
    part[e] = sum;
  }
}

/// One element of y (B, Tq, H, d_v), and of lse for the first of a row.
template <class T, int R>
struct JoinParts {
  using C = Compute<T>;
  const C* parts;
  T* y;
  C* lse;
  int queries, heads, group, v_dim, chunks, row_blocks;

  __device__ void operator()(int64_t n) const {
    const int c = static_cast<int>(n % v_dim), h = static_cast<int>(n / v_dim % heads);
    const int i = static_cast<int>(n / v_dim / heads % queries);
    const int64_t b = n / v_dim / heads / queries;
    const int row = h % group * queries + i, r = row % R;
    const int64_t size = part_size<R>(v_dim);
    const C* const first = parts + ((b * (heads / group) + h / group) * row_blocks + row / R) * chunks * size;
    const C* const tops = first + R * v_dim + r;
    C top = least_top<C>, total = 0, sum = 0;
    for (int k = 0; k < chunks; ++k) top = Larger{}(tops[k * size], top);
    for (int k = 0; k < chunks; ++k) {
      const C factor = std::exp2(tops[k * size] - top);
      total += factor * tops[k * size + R];
      sum += factor * first[k * size + r * v_dim + c];
    }
    store(y[n], total == 0 ? C(0) : sum / total);
    if (c == 0) lse[(b * heads + h) * queries + i] = top * ln_2<C> + std::log(total);
  }
};

template <class T, int R, class Call, class Cache>
void run(const Call& c, const AttentionArguments<T>& a, const Cache& k, const Cache& v, const int64_t* length) {
  using C = Compute<T>;
  const AttentionProblem& p = c.problem;
  const int64_t chunks = (p.keys + split_chunk - 1) / split_chunk, row_blocks = (p.group() * p.queries + R - 1) / R;
  const Tensor &y = c.out.y, &lse = c.out.lse;
  const int64_t blocks = p.batch * p.kv_heads * row_blocks * chunks;
  const Tensor parts = Tensor::empty({blocks, part_size<R>(p.v_dim)}, dtype_of<C>(), c.q.device());
  launch_kernel("attention_split", split_part<T, R, Cache>,
                {blocks, split_threads, sizeof(C) * static_cast<size_t>(R * (p.qk_dim + split_chunk + split_threads))},
                a, k, v, length, parts.mutable_data<C>(), static_cast<int>(chunks), static_cast<int>(row_blocks));
  launch("attention_join", y.numel(),
         JoinParts<T, R>{parts.data<C>(), y.template mutable_data<T>(), lse.template mutable_data<C>(),
                         static_cast<int>(p.queries), static_cast<int>(p.heads), static_cast<int>(p.group()),
                         static_cast<int>(p.v_dim), static_cast<int>(chunks), static_cast<int>(row_blocks)});
}

/// With as many rows to a block as the call has, 8 at most.
template <class T, class Call, class Cache>
void run_rows(const Call& c, const AttentionArguments<T>& a, const Cache& k, const Cache& v, const int64_t* length) {
  const int64_t rows = c.problem.group() * c.problem.queries;
  if (rows == 1) run<T, 1>(c, a, k, v, length);
  else if (rows <= 4) run<T, 4>(c, a, k, v, length);
  else run<T, 8>(c, a, k, v, length);
}

template <class Call>
void run_split(Call& c, const int64_t* length) {
  lay_out(c);
  with_real(c.q.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const AttentionArguments<T> a(c.problem, c.q, c.k, c.v, c.slopes);
    run_rows(c, a, NumberRows<T>{a.k}, NumberRows<T>{a.v}, length);
  });
}

}  // namespace

void attention_split(AttentionCall& c) { run_split(c, nullptr); }
void attention_split_cached(CachedAttentionCall& c) { run_split(c, c.length.data<int64_t>()); }

void attention_split_packed(PackedAttentionCall& c) {
  c.q = with_whole_rows(c.q), c.k.bytes = with_whole_rows(c.k.bytes), c.v.bytes = with_whole_rows(c.v.bytes);
  if (c.slopes.defined()) c.slopes = c.slopes.contiguous();
  run_rows(c, AttentionArguments<float>(c.problem, c.q, c.slopes), FormatRows(c.k), FormatRows(c.v),
           c.length.data_or_null<int64_t>());
}

}  // namespace headroom::engine::cuda
