#pragma once
#include <string>

namespace headroom::experiments {

/// Leaves this rank one GPU, as cuda:0, by CUDA_VISIBLE_DEVICES: of those that it may use the one whose number `device`
/// says ("cuda:2", which becomes "cuda"), else the one of the rank's number on its host, modulo how many there are.
/// Changes nothing where neither is known, or there is no such GPU: that is then CUDA's error. Call it before CUDA is
/// first asked for.
void take_gpu(std::string& device);

}  // namespace headroom::experiments
