#include "engine/error.h"
#include "models/tokenizers/load.h"
#include "tests/fuzz/encode_text.h"
#include "tests/fuzz/scratch_file.h"

/// A SentencePiece model (or Llama 3's ranks, which have the same name), and what it makes of a text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const headroom::fuzz::ScratchFile scratch("tokenizer.model");
  try {
    headroom::fuzz::encode_text(*headroom::models::load_tokenizer(scratch.holding(data, size)));
  } catch (const headroom::Error&) {
    return 0;
  }
  return 0;
}
