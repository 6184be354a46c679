#include "engine/device_op.h"

#include <map>
#include <string>

#include "engine/backend.h"
#include "engine/error.h"

namespace headroom::engine {
namespace {
std::map<std::string, DeviceOp>& table() {
  static std::map<std::string, DeviceOp> ops;
  return ops;
}
}  // namespace

void register_device_op(const char* op, const DeviceOp& kernels) { table()[op] = kernels; }

void device_failure(const char* call, const char* file, int line, const char* reason) {
  fail("{} failed ({}:{}): {}", call, file, line, reason);
}

template <class Kernel>
Kernel device_kernel(const char* op, Kernel DeviceOp::*kernel, const Tensor& x) {
  const auto found = table().find(op);
  if (found == table().end() || !(found->second.*kernel)) no_kernel(op, x);
  return found->second.*kernel;
}

template UnaryOnDevice device_kernel(const char*, UnaryOnDevice DeviceOp::*, const Tensor&);
template UnaryGradOnDevice device_kernel(const char*, UnaryGradOnDevice DeviceOp::*, const Tensor&);
template BinaryOnDevice device_kernel(const char*, BinaryOnDevice DeviceOp::*, const Tensor&);
template MatmulOnDevice device_kernel(const char*, MatmulOnDevice DeviceOp::*, const Tensor&);

}  // namespace headroom::engine
