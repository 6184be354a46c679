// Texts that calibrate and those that evaluate have nothing in common.
#include "experiments/tools/compress/job.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

TextRange range(const std::string& sha256, int64_t begin, int64_t end, int32_t step) {
  TextRange text{.file = sha256 + ".txt", .sha256 = sha256, .begin = begin, .end = end};
  for (int64_t i = begin; i < end; ++i) text.tokens.push_back(static_cast<int32_t>(i * step));
  return text;
}

}  // namespace

TEST_CASE("overlapping texts are refused with both hashes", "[compress]") {
  CHECK_NOTHROW(require_disjoint("calibration", range("a", 0, 100, 1), range("a", 100, 200, 1)));
  CHECK_THROWS_WITH(require_disjoint("calibration", range("a", 0, 100, 1), range("a", 99, 200, 1)),
                    testing::contains("a.txt tokens 0:100 (SHA-256 a) and a.txt tokens 99:200 (SHA-256 a)"));
  CHECK_NOTHROW(require_disjoint("calibration", range("a", 0, 100, 1), range("b", 0, 100, 7)));
  CHECK_NOTHROW(require_disjoint("calibration", range("a", 0, 100, 1), range("b", 37, 200, 1)));  // 63 in a row
  CHECK_THROWS_WITH(require_disjoint("calibration", range("a", 0, 100, 1), range("b", 36, 200, 1)),
                    testing::contains("share 64 tokens in a row"));
}

}  // namespace headroom::experiments
