#pragma once
// Named ranges for NVIDIA's profilers. The toolkit's version is header-only; without it they do nothing.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
namespace headroom::engine::cuda {
inline void push_range(const char* name) { nvtxRangePushA(name); }
inline void pop_range() { nvtxRangePop(); }
}  // namespace headroom::engine::cuda
#else
namespace headroom::engine::cuda {
inline void push_range(const char*) {}
inline void pop_range() {}
}  // namespace headroom::engine::cuda
#endif
