#include "engine/error.h"
#include "models/checkpoints/model_files.h"
#include "models/weights/tensor_store.h"
#include "tests/fuzz/encode_text.h"
#include "tests/fuzz/scratch_file.h"

namespace {

using headroom::Error;

/// The tokenizer that the file carries, if it has one that works.
void tokenize(const headroom::models::ModelFiles& files) {
  try {
    headroom::fuzz::encode_text(*files.tokenizer());
  } catch (const Error&) {
    return;
  }
}

}  // namespace

/// A GGUF file: header and metadata, what they say of a model, every tensor, the tokenizer, the model itself.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const headroom::fuzz::ScratchFile scratch("model.gguf");
  try {
    const auto files = headroom::models::ModelFiles::open(scratch.holding(data, size));
    for (const std::string& name : files->tensors().names()) (void)files->tensors().read(name);
    tokenize(*files);
    (void)files->load();
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
