#pragma once
#include <string>

namespace headroom::experiments {

/// Leaves this rank one GPU, as cuda:0, by setting CUDA_VISIBLE_DEVICES: the GPU with the number in `device` ("cuda:2",
/// which becomes "cuda"), else that of the rank's number on its host, modulo the number of GPUs. Changes nothing if
/// neither is known or there is no such GPU: CUDA then reports the error. Call it before any use of CUDA.
void take_gpu(std::string& device);

}  // namespace headroom::experiments
