#include "engine/error.h"
#include "models/tokenizers/load.h"
#include "tests/fuzz/encode_text.h"
#include "tests/fuzz/scratch_file.h"

/// tokenizer.json of a Hugging Face folder, and what it makes of a text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const headroom::fuzz::ScratchFile scratch("tokenizer.json");
  try {
    headroom::fuzz::encode_text(*headroom::models::load_tokenizer(scratch.holding(data, size)));
  } catch (const headroom::Error&) {
    return 0;
  }
  return 0;
}
