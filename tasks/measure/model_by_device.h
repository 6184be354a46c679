#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "models/transformer.h"

namespace headroom::tasks {

/// Holds one model per device, loaded on first request. Safe to call from several threads.
class ModelByDevice {
 public:
  /// The device's model. `load()` makes it on the context's device; all streams may read the result.
  template <class Load>
  const models::Transformer& get(engine::Device device, const Load& load) {
    const std::lock_guard lock(loading_);
    std::unique_ptr<models::Transformer>& model = models_[device.str()];
    if (model) return *model;
    const engine::DeviceScope scope(device);
    model = load();
    engine::synchronize(device);
    return *model;
  }

 private:
  std::mutex loading_;
  std::map<std::string, std::unique_ptr<models::Transformer>> models_;
};

}  // namespace headroom::tasks
