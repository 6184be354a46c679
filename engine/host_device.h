#pragma once

/// Before a function that CUDA compiles for the GPU as well as for the host.
#ifdef __CUDACC__
#define HEADROOM_HD __host__ __device__
#else
#define HEADROOM_HD
#endif
