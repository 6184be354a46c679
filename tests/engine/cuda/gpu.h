#pragma once
#include "engine/device.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"

namespace headroom::testing {

inline constexpr engine::Device gpu{engine::Device::Kind::cuda, 0};

/// Whether there is a GPU, or the emulator's; without one the test counts as skipped.
inline bool has_gpu() {
  if (engine::has_device(gpu.kind)) return true;
  skip("no CUDA device");
  return false;
}

}  // namespace headroom::testing
