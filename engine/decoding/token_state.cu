#include "engine/decoding/token_state.h"

#include "engine/cuda/launch.cuh"

// The work for each decoded token, at the place its state names.
namespace headroom::engine::cuda {
namespace {

__global__ void next_token_kernel(TokenState* state, const int64_t* chosen, uint64_t drawn) {
  state->token = *chosen;
  ++state->position;
  ++state->length;
  state->draws += drawn;
}

void run_next_token(NextTokenCall& c) {
  launch_kernel("next_token", next_token_kernel, {1, 1}, static_cast<TokenState*>(c.state.mutable_raw()),
                c.chosen.data<int64_t>(), c.drawn);
}

/// Element i of row (B, 1, H, d), whatever its dtype.
template <class Word>
struct CacheElement {
  Word* cache;
  const Word* row;
  const int64_t* length;
  int64_t capacity, width;  ///< tokens; elements of one

  __device__ void operator()(int64_t i) const {
    const int64_t at = *length - 1;
    if (at >= 0 && at < capacity) cache[(i / width * capacity + at) * width + i % width] = row[i];
  }
};

template <class Word>
void cache_as(const CacheTokenCall& c) {
  launch("cache_token", c.row.numel(),
         CacheElement<Word>{static_cast<Word*>(c.cache.mutable_raw()), static_cast<const Word*>(c.row.raw()),
                            c.length.data<int64_t>(), c.cache.dim(1), c.row.dim(2) * c.row.dim(3)});
}

void run_cache_token(CacheTokenCall& c) {
  visit_word(c.cache.dtype(), [&](auto word) { cache_as<decltype(word)>(c); });
}

}  // namespace

void register_token_state() {
  add_kernel(next_token_op, "one thread", DType::i64, run_next_token);
  add_kernel(cache_token_op, "elements", DType::f32 | DType::f64 | DType::bf16 | DType::f16 | DType::u8,
             run_cache_token);
}

}  // namespace headroom::engine::cuda
