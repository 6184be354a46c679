#pragma once
#include <cuda_runtime_api.h>

#include <list>

namespace headroom::engine::cuda::emulator {

/// All streams, the legacy default one first.
std::list<CUstream_st*>& streams();
/// The stream of a handle (null and cudaStreamLegacy: the default one), or null when it is none.
CUstream_st* resolve(cudaStream_t handle);
/// Deletes those that were destroyed while they had work and have none now.
void forget_destroyed_streams();
/// See cudaThreadExchangeStreamCaptureMode.
cudaStreamCaptureMode& thread_capture_mode();

}  // namespace headroom::engine::cuda::emulator
