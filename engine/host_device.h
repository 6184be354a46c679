#pragma once

/// Marks a function that CUDA compiles for both the GPU and the host.
#ifdef __CUDACC__
#define HEADROOM_HD __host__ __device__
#else
#define HEADROOM_HD
#endif
