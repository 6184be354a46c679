#include "engine/cuda/sdpa.h"

namespace headroom::engine::cuda {

std::string sdpa_rule_against(const SdpaProblem& p, SdpaPass pass, int64_t version, int capability) {
  // NVIDIA's release notes: 9.10.0 and 9.10.1 give wrong results; before 9.0 grouped heads have no gradient.
  if (version < 90000) return "cuDNN below 9.0";
  if (version == 91000 || version == 91001) return "cuDNN 9.10.0 and 9.10.1 give wrong results";
  if (capability < 80) return "compute capability below 8.0";
  if (p.dtype != DType::bf16 && p.dtype != DType::f16) return "neither bf16 nor f16";
  if (p.has_slopes) return "ALiBi slopes";
  if (p.has_dropout) return "dropout bits that equal the CPU's";
  if (p.has_key_mask) return "a key mask";
  // The library computes in tiles at least so wide; f16 has no other kernels.
  if (p.dtype == DType::bf16 && p.qk_dim < 32 && p.v_dim < 32) return "bf16 heads narrower than 32";
  if (p.qk_dim % 8 != 0 || p.v_dim % 8 != 0) return "a head_dim that is no multiple of 8";
  // Wider heads have a forward pass on some GPUs, and a gradient in a fixed order on none of 8.x.
  const int64_t widest = capability >= 90 ? 256 : 128;
  if (p.qk_dim > widest || p.v_dim > widest) return "a head_dim above " + std::to_string(widest);
  if (p.kv_heads < 1 || p.heads % p.kv_heads != 0) return "heads that cannot share keys and values";
  // A plan for each length of a growing cache, or of a prompt, would cost more than it saves.
  if (p.queries <= 16) return "16 queries or fewer";
  if (p.dtype == DType::bf16 && p.batch == 1 && p.queries % 64 != 0)
    return "one sequence whose length is no multiple of 64";
  // cuDNN's front end then masks the keys by lengths that it copies from a variable of its own; a graph that is
  // replayed would read what is there by then.
  if (version <= 91500 && p.keys % 128 != 0) return "keys that are no multiple of 128, for cuDNN below 9.15.1";
  if (pass == SdpaPass::backward && sdpa_workspace(p.batch, p.heads, p.queries, p.keys) > most_sdpa_workspace)
    return "a gradient in a fixed order that works in more than 256 MiB";
  if (p.keys < 1 || (p.causal && p.queries > p.keys)) return "queries that see no key";
  for (const SdpaProblem::Strides& strides : {p.q, p.k, p.v, p.dq, p.dk, p.dv})
    for (const int64_t stride : strides)
      if (stride % 8 != 0) return "rows that are not aligned to 16 bytes";
  return "";
}

}  // namespace headroom::engine::cuda
