#pragma once
#include <cstdint>

#include "engine/dispatch/op.h"

namespace headroom::engine {

/// The values that change from one decoded token to the next. On the device it is i64 (4), in this order, read by
/// kernels: a token recorded once can be replayed for every later one.
struct TokenState {
  int64_t token = 0;     ///< to decode
  int64_t position = 0;  ///< in the sequence
  int64_t length = 1;    ///< tokens in the key-value caches, including this one
  uint64_t draws = 0;    ///< start of the next choice's random numbers: see RngKey::base
  bool operator==(const TokenState&) const = default;
};
static_assert(sizeof(TokenState) == 32);

/// A TokenState{} on the device: i64 (4).
Tensor make_token_state(Device device);
/// Copies from the host.
void write_token_state(const Tensor& state, const TokenState& values);
/// Its token, read back by the host.
int64_t read_token(const Tensor& state);
/// Views of it: tokens (1, 1), positions (1), lengths (1), all i64.
Tensor token_of(const Tensor& state);
Tensor position_of(const Tensor& state);
Tensor length_of(const Tensor& state);
/// The RngKey::base of keys that follow the state; the state must outlive them.
const uint64_t* draws_base(const Tensor& state);

/// Moves to the next token: token = chosen, an i64 of one element, position += 1, length += 1, draws += drawn. Never
/// waits for the device.
void next_token_inplace(const Tensor& state, const Tensor& chosen, uint64_t drawn);

/// cache[b, length - 1] = row[b]: cache (B, capacity, H, d) contiguous, row (B, 1, H, d) of its dtype, real or the
/// bytes of packed rows, length i64 (1). Writes nothing if there is no such place. Never waits for the device. Throws
/// Error naming shapes that do not fit.
void cache_token_inplace(const Tensor& cache, const Tensor& row, const Tensor& length);

/// Calls that change their first operand.
struct NextTokenCall {
  Tensor state, chosen;
  uint64_t drawn;
  auto operands() { return std::array{index("state", state), index("chosen", chosen)}; }
};
struct CacheTokenCall {
  Tensor cache, row, length;
  auto operands() { return std::array{real("cache", cache), real("row", row), index("length", length)}; }
};
extern Op<NextTokenCall> next_token_op;
extern Op<CacheTokenCall> cache_token_op;

}  // namespace headroom::engine
