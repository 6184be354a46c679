#include "models/safetensors/safetensors.h"
#include "engine/error.h"
#include "tests/fuzz/scratch_file.h"

/// A safetensors file: its header, and every tensor that it lists.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const headroom::fuzz::ScratchFile scratch("model.safetensors");
  try {
    const headroom::models::SafetensorsFile file(scratch.holding(data, size));
    for (const std::string& name : file.names()) file.tensor(name);
  } catch (const headroom::Error&) {
    return 0;
  }
  return 0;
}
