#include "engine/error.h"
#include "experiments/studies/export/published.h"
#include "tests/fuzz/scratch_file.h"

/// A file of published trials, as text or as gzip.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const headroom::fuzz::ScratchFile file("trials");
  try {
    headroom::experiments::PublishedReader reader(file.holding(data, size), {.text = 1 << 24, .line = 1 << 22});
    for (headroom::experiments::TrialRecord trial; reader.next(trial);) continue;
  } catch (const headroom::Error&) {
    return 0;
  }
  return 0;
}
