#include <atomic>
#include <string>

#include "engine/cuda/check.h"
#include "engine/transfer.h"

namespace headroom::engine::cuda {
namespace {

std::atomic<const char*> last_launched{nullptr};

/// Errors after which every further call of the process fails.
bool is_sticky(cudaError_t code) {
  switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorDevicesUnavailable:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* last_kernel() { return last_launched.load(std::memory_order_relaxed); }
void set_last_kernel(const char* name) { last_launched.store(name, std::memory_order_relaxed); }

void cuda_failure(cudaError_t code, const char* call, const char* file, int line) {
  std::string reason = std::string(cudaGetErrorString(code)) + " (" + cudaGetErrorName(code) + ")";
  cudaGetLastError();  // forget it, or the next launch would report it again
  if (!is_sticky(code)) device_failure(call, file, line, reason.c_str());
  if (!device_is_lost()) {
    const char* kernel = last_kernel();
    reason += kernel ? std::string("; the kernel launched last was '") + kernel + "'" : std::string();
    reason += "; a GPU does not recover from this within a process: start the program again; what had finished is kept";
  }
  set_device_lost();
  device_failure(call, file, line, reason.c_str());
}

}  // namespace headroom::engine::cuda
