#include "engine/cuda/pack.cuh"
#include "engine/ops/attention/attention_cuda.h"
#include "engine/ops/attention/attention_matrix_grad.cuh"
#include "engine/switch.h"

// The gradient of narrow heads as one kernel, of five products and one exponential a score where two kernels take seven
// and two. A block owns a key-value head with all its queries, so that dq needs no second kernel: it stays in shared
// memory, in f32, until all keys have added to it. Groups of four warps take 64 keys each, as matrix_key_grad's blocks
// do; their ds of a tile of queries go through shared memory, transposed, and are multiplied by their keys. Groups are
// at different tiles of queries at any time, so that no two add to the same dq. ALiBi and masks, whose rules need more
// registers, and heads wider than 32, whose dq would leave room for few warps, keep the two kernels.
namespace headroom::engine::cuda {
namespace {

/// Groups that a multiprocessor has registers for.
constexpr int64_t most_groups = 4;
constexpr int most_threads = most_groups * matrix_threads, joint_width = 32;

/// Queries at a time: shared memory holds their ds twice.
template <int W>
constexpr int joint_queries = W == 8 ? 64 : 32;

template <int W>
struct JointTiles : GradTiles<W, joint_queries<W>> {
  /// (keys, queries): of the tile that is computed, and of the one before.
  MatrixTile<joint_queries<W>, matrix_rows> ds[2];
};

/// The warp's part of the dq of N queries: 16 of them, and so many columns.
template <int W>
struct JointPart {
  static constexpr int N = joint_queries<W>, rows = N / 16, columns = W * rows / matrix_warps;
  static constexpr int lanes = matrix_warps * warp_size;
  MatrixPlace at;
  int row = 16 * (at.warp % rows), column = columns * (at.warp / rows);

  /// The thread's numbers of a tile's dq, eight columns further with each step of `lanes`.
  __device__ float4* of(float4* dq, int tile) const { return dq + tile * (N * W / 4) + threadIdx.x; }

  /// dq += dsᵀ · keys.
  __device__ void add(const JointTiles<W>& tiles, int buffer, float4* dq) const {
    float sum[columns / 8][4];
#pragma unroll
    for (int x = 0; x < columns / 8; ++x) {
      const float4 four = dq[x * lanes];
      sum[x][0] = four.x, sum[x][1] = four.y, sum[x][2] = four.z, sum[x][3] = four.w;
    }
    const MatrixTile<N, matrix_rows>& ds = tiles.ds[buffer];
    const bf16* const a_row = ds.row(at.lane / 16 * 8 + at.lane % 8) + row + at.lane / 8 % 2 * 8;
    uint32_t a[4], b[4];
    if constexpr (columns == 8) {
#pragma unroll
      for (int j = 0; j < matrix_rows; j += 32) {
        load_matrices<true>(b, tiles.own[0].row(j + at.lane) + column);
        load_matrices<true>(a, a_row + j * matrix_step<N>);
        mma_m16n8k16(sum[0], a, b[0], b[1]);
        load_matrices<true>(a, a_row + (j + 16) * matrix_step<N>);
        mma_m16n8k16(sum[0], a, b[2], b[3]);
      }
    } else {
      static_assert(columns == 16);
#pragma unroll
      for (int j = 0; j < matrix_rows; j += 16) {
        load_matrices<true>(a, a_row + j * matrix_step<N>);
        load_matrices<true>(b, tiles.own[0].row(j + at.lane % 16) + column + at.lane / 16 * 8);
        mma_m16n8k16(sum[0], a, b[0], b[1]);
        mma_m16n8k16(sum[1], a, b[2], b[3]);
      }
    }
#pragma unroll
    for (int x = 0; x < columns / 8; ++x) dq[x * lanes] = {sum[x][0], sum[x][1], sum[x][2], sum[x][3]};
  }
};

/// x·y of eight columns of query i, as far as they exist.
__device__ inline float dot_of_eight(const Heads<const bf16>& x, const Heads<const bf16>& y, int b, int i, int h,
                                     int column) {
  const bf16 *const left = x.row(b, i, h) + column, *const right = y.row(b, i, h) + column;
  float sum = 0;
  if (x.packed && y.packed && column < x.width) {
    const auto lefts = *reinterpret_cast<const Pack<bf16, 8>*>(left),
               rights = *reinterpret_cast<const Pack<bf16, 8>*>(right);
#pragma unroll
    for (int e = 0; e < 8; ++e) sum += load(lefts.value[e]) * load(rights.value[e]);
  } else {
#pragma unroll
    for (int e = 0; e < 8; ++e)
      if (column + e < x.width) sum += load(left[e]) * load(right[e]);
  }
  return sum;
}

/// Puts the thread's ds where `to` is the place of [0][0].
template <int N, int n>
__device__ inline void put(const float (&ds)[n][4], bf16* to) {
#pragma unroll
  for (int x = 0; x < n; ++x)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      *reinterpret_cast<uint32_t*>(to + half * 8 * matrix_step<N> + 8 * x) =
          pack_bf16(ds[x][2 * half], ds[x][2 * half + 1]);
}

/// All gradients of one key-value head. blockDim.y: groups.
template <int W, MatrixRules kind>
__global__ void __launch_bounds__(most_threads, 1)
    matrix_joint_grad(AttentionArguments<bf16> a, AttentionGradArguments<bf16> g, Heads<const bf16> y,
                      PhiloxKeys round_keys) {
  constexpr int N = joint_queries<W>, C = W == 32 ? 16 : 32;
  const int groups = static_cast<int>(blockDim.y), group = static_cast<int>(threadIdx.y);
  JointTiles<W>* const all = dynamic_shared<JointTiles<W>>();
  JointTiles<W>& shared = all[group];
  const int kv_heads = a.heads / a.group, b = static_cast<int>(blockIdx.x) / kv_heads,
            kv_head = static_cast<int>(blockIdx.x) % kv_heads, first_head = kv_head * a.group;
  const int queries = a.q.tokens, keys = a.k.tokens;
  const int tiles = (queries + N - 1) / N, padded = tiles * N;  // of each head
  float4* const dq = reinterpret_cast<float4*>(all + groups);
  float* const minus_deltas = reinterpret_cast<float*>(dq) + a.group * padded * W;
  float* const tops = minus_deltas + 2 * a.group * padded;
  const MatrixPlace place;
  const JointPart<W> part;
  for (int tile = group; tile < a.group * tiles; tile += groups)
#pragma unroll
    for (int x = 0; x < part.columns / 8; ++x) part.of(dq, tile)[x * part.lanes] = {0, 0, 0, 0};
  // Eight columns of a query a thread.
  constexpr int lanes = W / 8;
  for (int n = group * matrix_threads + static_cast<int>(threadIdx.x); n < a.group * padded * lanes;
       n += groups * matrix_threads) {
    const int query = n / lanes, column = n % lanes * 8, h = first_head + query / padded, i = query % padded;
    float delta = i < queries ? dot_of_eight(g.dy, y, b, i, h, column) : 0;
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) delta += __shfl_xor_sync(all_lanes, delta, distance);
    if (column > 0) continue;
    set_minus_delta(minus_deltas, query, delta);
    tops[query] = i < queries ? g.top((int64_t{b} * a.heads + h) * queries + i) : infinity<float>;
  }

  for (int round = 0; round < keys; round += groups * matrix_rows) {
    const int first = round + group * matrix_rows;
    // The block's steps: of each head the tiles of queries that see any of the round's keys.
    const int begin = HeadRules<bf16>(a, b, 0).first_query(round) / N * N, seeing = tiles - begin / N;
    const int count = seeing > 0 ? a.group * seeing : 0, steps = count > 0 ? larger(count, groups) : 0;
    // The group's: from the first query on that sees any of its own.
    const int seen_from = first < keys ? HeadRules<bf16>(a, b, 0).first_query(first) : tiles * N;
    const int ahead = seeing > 0 ? group / seeing : 0;
    QueryTiles<W, N> next(a.q, g.dy, b, begin, first_head + ahead, begin + (group - ahead * seeing) * N);
    int position = group;  // of `next` among the steps
    const auto is_seen = [&] { return position < count && next.query + N > seen_from; };
    float dk[W / 8][4], dv[W / 8][4];
    matrix_clear(dk), matrix_clear(dv);
    shared.own[0].fill(MatrixRows<W>(a.k.rows(b, first, kv_head, matrix_rows)));
    shared.own[1].fill(MatrixRows<W>(a.v.rows(b, first, kv_head, matrix_rows)));
    bool is_there = is_seen();
    if (is_there) next.fill(shared, 0);
    commit_copies();
    int before = -1;  // the tile that the ds of the last step belong to
    for (int step = 0; step < steps; ++step) {
      const int buffer = step % 2, h = next.head, i0 = next.query, tile = (h - first_head) * tiles + i0 / N;
      const bool has_scores = is_there;
      if (++position < steps) next.skip();
      else position = 0, next.go_to(first_head, begin);
      is_there = step + 1 < steps && is_seen();
      wait_for_copies<0>();
      __syncthreads();  // the tile is there, so are the last step's ds, and what came before them is no longer read
      if (is_there) next.fill(shared, 1 - buffer);
      commit_copies();
      if (before >= 0) part.add(shared, 1 - buffer, part.of(dq, before));
      before = has_scores ? tile : -1;
      if (has_scores) {
        const HeadRules<bf16> rules(a, b, h);
#pragma unroll 1
        for (int n = 0; n < N; n += C) {
          bf16* const to = shared.ds[buffer].value + place.row * matrix_step<N> + n + place.column;
          float ds[C / 8][4];
          if (i0 + n + C <= rules.first_query(first + 16 * place.warp)) {
            matrix_clear(ds);  // none of these queries sees any of the warp's keys
            put<N>(ds, to);
          } else {
            add_key_grads<kind, W, N, C>(a, round_keys, rules, shared, buffer, tops + tile * N,
                                         minus_deltas + 2 * tile * N, first, i0, n, ds, dk, dv);
            put<N>(ds, to);  // apart, so that they are rounded once
          }
        }
      }
    }
    __syncthreads();  // the last step's ds are there
    if (before >= 0) part.add(shared, (steps - 1) % 2, part.of(dq, before));
    write_key_grads<W>(a, g, b, kv_head, first, dk, dv);
    __syncthreads();  // dq is whole, and the round's keys are no longer read
  }
  for (int tile = group; tile < a.group * tiles; tile += groups) {
    float result[JointPart<W>::columns / 8][4];
#pragma unroll
    for (int x = 0; x < part.columns / 8; ++x) {
      const float4 four = part.of(dq, tile)[x * part.lanes];
      result[x][0] = four.x, result[x][1] = four.y, result[x][2] = four.z, result[x][3] = four.w;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = tile % tiles * N + part.row + place.lane / 4 + 8 * half;
      if (i < queries)
        matrix_write<JointPart<W>::columns>(
            result, half, a.scale, g.dq.row(b, i, first_head + tile / tiles) + part.column, g.dq.width - part.column);
    }
  }
}

/// Of a block: what its groups hold, and of each query dq, twice -delta, and top.
template <int W>
size_t shared_bytes(const AttentionProblem& p, int groups) {
  constexpr int64_t N = joint_queries<W>;
  const int64_t queries = p.group() * ((p.queries + N - 1) / N) * N;
  return static_cast<size_t>(groups) * sizeof(JointTiles<W>) + static_cast<size_t>(queries) * (W + 3) * sizeof(float);
}

/// Of the process's GPU: multiprocessors, and the bytes of shared memory that a block and a multiprocessor may have.
struct GpuLimits {
  int64_t processors, of_block, of_processor;
};
const GpuLimits& gpu_limits() {
  static const GpuLimits limits = [] {
    int device = 0;
    HEADROOM_CUDA(cudaGetDevice(&device));
    const auto attribute = [device](cudaDeviceAttr of) {
      int value = 0;
      HEADROOM_CUDA(cudaDeviceGetAttribute(&value, of, device));
      return int64_t{value};
    };
    return GpuLimits{attribute(cudaDevAttrMultiProcessorCount), attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                     attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor)};
  }();
  return limits;
}

/// Groups of a block, or 0 if two kernels should be faster: these take 7/5 of the products and twice the exponentials,
/// but have a block for every 64 keys and for every 64 queries, which fill a GPU where heads are few or long.
template <int W>
int joint_groups(const AttentionProblem& p) {
  const auto& [processors, of_block, of_processor] = gpu_limits();
  const int64_t heads = p.batch * p.kv_heads, key_tiles = (p.keys + matrix_rows - 1) / matrix_rows;
  int64_t most = 0;  // groups at work at once
  int best = 0;
  for (int groups = 1; groups <= std::min<int64_t>(most_groups, key_tiles); ++groups) {
    const int64_t bytes = static_cast<int64_t>(shared_bytes<W>(p, groups)), rounds = (key_tiles + groups - 1) / groups;
    if (bytes > of_block) break;
    constexpr int64_t reserved = 1024;  // of every block
    const int64_t blocks = std::min(most_groups / groups, of_processor / (bytes + reserved));
    const int64_t at_once = std::min(heads, processors * blocks) * key_tiles / rounds;
    if (8 * at_once <= 9 * most) continue;  // the groups of a block wait for one another
    most = at_once, best = groups;
  }
  return 7 * most >= 5 * std::min(heads * key_tiles, processors * most_groups) ? best : 0;
}

}  // namespace

bool attention_joint_grad(AttentionGradCall& c) {
  static const bool is_used = !is_off("HEADROOM_JOINT_DQ");
  if (!is_used) return false;
  const AttentionProblem& p = c.problem;
  AttentionGradRun<bf16> run(c, false);
  const AttentionArguments<bf16> a = run.arguments();
  int groups = 0;
  with_matrix_kernel(std::max(p.qk_dim, p.v_dim), a, [&](auto width, auto rules) {
    constexpr int W = decltype(width)::value;
    if constexpr (W <= joint_width && decltype(rules)::value != MatrixRules::any) {
      groups = joint_groups<W>(p);
      if (groups == 0) return;
      launch_kernel("attention_tensor_core_grad", matrix_joint_grad<W, decltype(rules)::value>,
                    {p.batch * p.kv_heads, {matrix_threads, groups}, shared_bytes<W>(p, groups)}, a, run.grad(0),
                    heads_of<bf16>(c.forward.y), round_keys_of(p.dropout_key));
    }
  });
  return groups > 0;
}

}  // namespace headroom::engine::cuda
