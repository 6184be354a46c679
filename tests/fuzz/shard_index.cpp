#include "engine/error.h"
#include "engine/tensor.h"
#include "models/checkpoints/safetensors_folder.h"
#include "tests/fuzz/scratch_file.h"

namespace {

/// An index next to two shards that are as they should be.
class Shards : public headroom::fuzz::ScratchFile {
 public:
  Shards() : ScratchFile("model.safetensors.index.json") {
    using headroom::engine::Tensor;
    headroom::models::write_safetensors(folder() / "model-00001-of-00002.safetensors", {{"a", Tensor::zeros({2, 3})}});
    headroom::models::write_safetensors(folder() / "model-00002-of-00002.safetensors",
                                        {{"b", Tensor::zeros({4})}, {"c", Tensor::zeros({1, 1})}});
  }
};

}  // namespace

/// model.safetensors.index.json of a sharded model.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Shards shards;
  shards.holding(data, size);
  try {
    const headroom::models::SafetensorsFolder folder(shards.folder());
    for (const std::string& name : folder.names()) (void)folder.read(name);
  } catch (const headroom::Error&) {
    return 0;
  }
  return 0;
}
