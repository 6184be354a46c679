// Two commands that give one name at once: one gets it, the other says so.
#include <algorithm>

#include "tests/experiments/program.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

using namespace headroom::testing;

namespace {

/// Starts both at once. Exactly one ends with 0; what it wrote is there whole. The other names one of `wanted`.
void check_one_wins(const std::filesystem::path& folder, const std::string& first, const std::string& second,
                    const std::vector<std::string>& wanted) {
  Program one(folder, first, "", "one-"), two(folder, second, "", "two-");
  const int statuses[] = {one.wait(), two.wait()};
  const std::string errors = one.err() + two.err();
  CAPTURE(first, second, errors);
  CHECK(statuses[0] + statuses[1] == 1);
  CHECK(std::any_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
    return contains(errors, "headroom: error: " + name + ": exists");
  }));
  CHECK(contains(errors, "--force replaces it"));
}

}  // namespace

TEST_CASE("of two commands that write one file or folder at once one fails") {
  const std::filesystem::path models = std::filesystem::path(source_root()) / "tests/models/pretrained";
  const std::string model = (models / "checkpoints/smollm2").string(), text = (models / "text.txt").string();
  for (int round = 0; round < 3; ++round) {
    const TemporaryFolder folder;
    check_one_wins(folder.path(), "convert " + model + " -o m.gguf --dtype f32",
                   "convert " + model + " -o m.gguf --dtype f16", {"m.gguf", "m.md"});  // its card
    check_one_wins(folder.path(), "convert " + model + " -o m --dtype f32", "convert " + model + " -o m --dtype bf16",
                   {"m"});
    const std::string probe = "probe " + model + " --text " + text + " --spans 1 --lengths 4 --html p.html --seed ";
    check_one_wins(folder.path(), probe + "1", probe + "2", {"p.html"});
    const std::string tune = "finetune " + model + " --text " + text + " --steps 2 --batch 1 --context 8 --out t --lr ";
    check_one_wins(folder.path(), tune + "1e-3", tune + "1e-4", {"t"});
    // A model that the winner wrote can be read.
    for (const char* made : {"m.gguf", "m", "t"}) {
      Program read(folder.path(), std::string("tokenize --text a ") + made);
      CHECK(read.wait() == 0);
    }
    size_t entries = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      entries += entry.path().filename().string().ends_with(".tmp") ? 1 : 0;
    CHECK(entries == 0);
  }
}
