#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "engine/dtype.h"

// Attention on the GPU by cuDNN (sdpa.cpp), or on the CPU under the emulator (tests/cuda/emulator). It takes some of
// engine/ops/attention's problems; our own kernels take the rest.
namespace headroom::engine::cuda {

/// Sizes, options and layout of one call. Tensors are (B, T, H, d) with d contiguous; strides are in elements.
struct SdpaProblem {
  using Strides = std::array<int64_t, 3>;  ///< between sequences, positions and heads
  DType dtype = DType::bf16;               ///< bf16 or f16
  int64_t batch = 0, queries = 0, keys = 0, heads = 0, kv_heads = 0, qk_dim = 0, v_dim = 0;
  bool causal = false;  ///< query i sees keys j ≤ i + (keys - queries)
  double scale = 1;
  bool has_slopes = false, has_key_mask = false, has_dropout = false;
  Strides q{}, k{}, v{};
  Strides dq{}, dk{}, dv{};  ///< in the backward pass
  auto operator<=>(const SdpaProblem&) const = default;
};

/// Workspace bytes of a gradient in a fixed order: ds of all heads in 2 bytes, in tiles of 64 queries and 128 keys. The
/// library's own unordered gradient needs none.
constexpr int64_t sdpa_workspace(int64_t batch, int64_t heads, int64_t queries, int64_t keys) {
  return batch * heads * ((queries + 63) / 64 * 64) * ((keys + 127) / 128 * 128) * 2;
}
/// Above this many bytes of workspace we use our own kernels, which need none.
inline constexpr int64_t most_sdpa_workspace = int64_t{256} << 20;

enum class SdpaPass { forward, backward };

/// The reason not to ask cuDNN of that version (91900 is 9.19.0), on a GPU of that compute capability (90 is 9.0), for
/// that pass; empty if there is none.
std::string sdpa_rule_against(const SdpaProblem& problem, SdpaPass pass, int64_t version, int capability);

/// The result of looking for the library, at the first call: "cuDNN 9.19.0", or why there is none.
const std::string& sdpa_status();

/// The reason why the library does not take this pass of a problem; empty if it does. Gradients are summed in a fixed
/// order. The first call for a pass plans it, which takes some milliseconds. Throws whatever the library throws.
std::string sdpa_refusal(const SdpaProblem& problem, SdpaPass pass);

/// True if HEADROOM_CUDNN=off keeps attention on our own kernels, for comparing the two.
bool sdpa_is_off();

/// sdpa_refusal() if the library is on; its exceptions, and passes given to give_up_sdpa(), count as refusals. Never
/// throws.
std::string sdpa_answer(const SdpaProblem& problem, SdpaPass pass);

/// Stops asking the library for a pass of a problem at which it failed. Writes each reason to standard error once.
void give_up_sdpa(const SdpaProblem& problem, SdpaPass pass, const std::string& reason);

/// Addresses on the device.
struct SdpaOperands {
  const void *q, *k, *v;
  void* y;     ///< (B, Tq, H, d_v), contiguous
  float* lse;  ///< (B, H, Tq): log Σ_j exp s_ij
};
/// Queues attention() of engine/ops/attention/attention.h on the context's stream. Throws Error if the library fails.
void sdpa_forward(const SdpaProblem& problem, const SdpaOperands& operands);

struct SdpaGradOperands {
  const void *dy, *q, *k, *v, *y;  ///< dy and y contiguous
  const float* lse;
  void *dq, *dk, *dv;
};
void sdpa_backward(const SdpaProblem& problem, const SdpaGradOperands& operands);

}  // namespace headroom::engine::cuda
