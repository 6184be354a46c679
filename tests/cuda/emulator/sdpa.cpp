// cuDNN's part under the emulator: attention's reference loops on the CPU, in f32.
#include "engine/cuda/sdpa.h"

#include <cstring>
#include <stdexcept>

#include "engine/ops/attention/attention.h"
#include "tests/cuda/emulator/card.h"
#include "tests/cuda/emulator/vendor.h"

namespace headroom::engine::cuda {
namespace {

/// The version of cuDNN that this stands in for.
constexpr int64_t version = 91900;

int capability() {
  int index = 0, major = 0, minor = 0;
  HEADROOM_CUDA(cudaGetDevice(&index));
  HEADROOM_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index));
  HEADROOM_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index));
  return 10 * major + minor;
}

/// A tensor of the device as one of the CPU, in f32: (B, T, H, d).
Tensor read(const void* data, DType dtype, const Shape& shape, const SdpaProblem::Strides& strides) {
  const Tensor out = Tensor::empty(shape);
  auto* value = out.mutable_data<float>();
  const auto at = [&](int64_t i) {
    return dtype == DType::bf16 ? static_cast<float>(static_cast<const bf16*>(data)[i])
                                : static_cast<float>(static_cast<const f16*>(data)[i]);
  };
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t t = 0; t < shape[1]; ++t)
      for (int64_t h = 0; h < shape[2]; ++h)
        for (int64_t d = 0; d < shape[3]; ++d) *value++ = at(b * strides[0] + t * strides[1] + h * strides[2] + d);
  return out;
}
SdpaProblem::Strides contiguous(const Shape& shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]};
}
void write(void* data, DType dtype, const Tensor& values) {
  const Tensor narrow = values.to(dtype).contiguous();
  std::memcpy(data, narrow.raw(), static_cast<size_t>(narrow.numel() * size_of(dtype)));
}
/// The same where the rows of (B, T, H, d) are apart.
void write(void* data, DType dtype, const Tensor& values, const SdpaProblem::Strides& strides) {
  const Tensor narrow = values.to(dtype).contiguous();
  const auto* row = static_cast<const char*>(narrow.raw());
  const Shape& shape = values.shape();
  const auto size = static_cast<int64_t>(size_of(dtype));
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t t = 0; t < shape[1]; ++t)
      for (int64_t h = 0; h < shape[2]; ++h, row += shape[3] * size)
        std::memcpy(static_cast<char*>(data) + (b * strides[0] + t * strides[1] + h * strides[2]) * size, row,
                    static_cast<size_t>(shape[3] * size));
}

struct Shapes {
  Shape q, k, v, y;
  explicit Shapes(const SdpaProblem& p)
      : q{p.batch, p.queries, p.heads, p.qk_dim},
        k{p.batch, p.keys, p.kv_heads, p.qk_dim},
        v{p.batch, p.keys, p.kv_heads, p.v_dim},
        y{p.batch, p.queries, p.heads, p.v_dim} {}
};

AttentionOptions options_of(const SdpaProblem& p) { return {.causal = p.causal, .scale = p.scale}; }

}  // namespace

const std::string& sdpa_status() {
  static const std::string status = "the emulator's attention, by the rules of cuDNN 9.19.0";
  return status;
}

std::string sdpa_refusal(const SdpaProblem& problem, SdpaPass pass) {
  std::string rule = sdpa_rule_against(problem, pass, version, capability());
  if (rule.empty() && emulator::refuses("plans")) throw std::runtime_error("the emulated cuDNN makes no plan");
  return rule;
}

void sdpa_forward(const SdpaProblem& p, const SdpaOperands& o) {
  for (const void* address : {o.q, o.k, o.v, static_cast<const void*>(o.y), static_cast<const void*>(o.lse)})
    emulator::demand_device("sdpa_forward", address);
  if (emulator::refuses("execution")) throw std::runtime_error("the emulated cuDNN does not run");
  emulator::enqueue_here("sdpa_forward", [p, o] {
    const Shapes shape(p);
    const ReferenceScope scope;
    const Attention out = attention(read(o.q, p.dtype, shape.q, p.q), read(o.k, p.dtype, shape.k, p.k),
                                    read(o.v, p.dtype, shape.v, p.v), {}, options_of(p));
    write(o.y, p.dtype, out.y);
    write(o.lse, DType::f32, out.lse);
  });
}

void sdpa_backward(const SdpaProblem& p, const SdpaGradOperands& o) {
  for (const void* address : {o.dy, o.q, o.k, o.v, o.y, static_cast<const void*>(o.lse), static_cast<const void*>(o.dq),
                              static_cast<const void*>(o.dk), static_cast<const void*>(o.dv)})
    emulator::demand_device("sdpa_backward", address);
  if (emulator::refuses("execution")) throw std::runtime_error("the emulated cuDNN does not run");
  emulator::enqueue_here("sdpa_backward", [p, o] {
    const Shapes shape(p);
    const ReferenceScope scope;
    Attention forward{read(o.y, p.dtype, shape.y, contiguous(shape.y)), Tensor::empty({p.batch, p.heads, p.queries})};
    std::memcpy(forward.lse.mutable_raw(), o.lse, static_cast<size_t>(forward.lse.numel()) * sizeof(float));
    const AttentionGrad grad =
        attention_grad(read(o.dy, p.dtype, shape.y, contiguous(shape.y)), read(o.q, p.dtype, shape.q, p.q),
                       read(o.k, p.dtype, shape.k, p.k), read(o.v, p.dtype, shape.v, p.v), {}, forward, options_of(p));
    write(o.dq, p.dtype, grad.dq, p.dq);
    write(o.dk, p.dtype, grad.dk, p.dk);
    write(o.dv, p.dtype, grad.dv, p.dv);
  });
}

}  // namespace headroom::engine::cuda
