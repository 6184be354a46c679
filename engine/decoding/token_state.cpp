#include "engine/decoding/token_state.h"

#include "engine/error.h"
#include "engine/transfer.h"

namespace headroom::engine {
namespace {

constexpr int64_t words_of_token = sizeof(TokenState) / sizeof(int64_t);

void check_token_state(const char* op, const Tensor& state) {
  require(
      state.defined() && state.dtype() == DType::i64 && state.shape() == Shape{words_of_token} && state.is_contiguous(),
      "{}: a token's state is i64 ({}), got {}", op, words_of_token, state.defined() ? state.str() : "nothing");
}

void next_token_on_host(NextTokenCall& c) {
  auto* const words = c.state.mutable_data<int64_t>();
  words[0] = *c.chosen.data<int64_t>();
  ++words[1], ++words[2];
  words[3] += static_cast<int64_t>(c.drawn);
}

void cache_token_on_host(CacheTokenCall& c) {
  const int64_t at = *c.length.data<int64_t>() - 1;
  if (at >= 0 && at < c.cache.dim(1)) copy_inplace(c.cache.slice(1, at, at + 1), c.row);
}

}  // namespace

Op<NextTokenCall> next_token_op{
    "next_token", {{.name = "host", .dtypes = DType::i64, .run = next_token_on_host, .is_reference = true}}};
Op<CacheTokenCall> cache_token_op{"cache_token",
                                  {{.name = "copy",
                                    .dtypes = DType::f32 | DType::f64 | DType::bf16 | DType::f16 | DType::u8,
                                    .run = cache_token_on_host,
                                    .is_reference = true}}};

Tensor make_token_state(Device device) {
  const Tensor state = Tensor::empty({words_of_token}, DType::i64, device);  // (4)
  write_token_state(state, {});
  return state;
}

void write_token_state(const Tensor& state, const TokenState& values) {
  check_token_state("write_token_state", state);
  copy_bytes(state.device(), state.mutable_raw(), cpu, &values, sizeof(values));
}

int64_t read_token(const Tensor& state) {
  check_token_state("read_token", state);
  int64_t token = 0;
  copy_bytes(cpu, &token, state.device(), state.raw(), sizeof(token));
  return token;
}

Tensor token_of(const Tensor& state) {
  check_token_state("token_of", state);
  return state.slice(0, 0, 1).reshape({1, 1});  // (B, T)
}

Tensor position_of(const Tensor& state) {
  check_token_state("position_of", state);
  return state.slice(0, 1, 2);  // (1)
}

Tensor length_of(const Tensor& state) {
  check_token_state("length_of", state);
  return state.slice(0, 2, 3);  // (1)
}

const uint64_t* draws_base(const Tensor& state) {
  check_token_state("draws_base", state);
  return static_cast<const uint64_t*>(state.raw()) + 3;
}

void next_token_inplace(const Tensor& state, const Tensor& chosen, uint64_t drawn) {
  NextTokenCall call{state, chosen, drawn};
  next_token_op.check(call);
  check_token_state("next_token", state);
  require(chosen.numel() == 1, "next_token: {} is not one token", chosen.str());
  next_token_op.run(call);
  state.bump_version();
}

void cache_token_inplace(const Tensor& cache, const Tensor& row, const Tensor& length) {
  CacheTokenCall call{cache, row, length};
  cache_token_op.check(call);
  require(cache.rank() == 4 && cache.is_contiguous() && row.shape() == cache.shape().with(1, 1) && length.numel() == 1,
          "cache_token: expected a cache (B, capacity, H, d), a row (B, 1, H, d) and one length: {}, {}, {}",
          cache.str(), row.str(), length.str());
  if (row.numel() == 0) return;
  cache_token_op.run(call);
  cache.bump_version();
}

}  // namespace headroom::engine
