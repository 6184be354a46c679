/// Runs a fuzz target once over each file of the folders and files named: main() where libFuzzer's is not there. The
/// system ends a process that computes for longer than any reader needs for them, as libFuzzer's -timeout does.
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr rlim_t most_seconds = 20;  ///< of computing, under sanitizers too

void replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::printf("%s (%zu bytes)\n", path.c_str(), bytes.size());
  std::fflush(stdout);  // the last line names the input of a crash
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  const rlimit limit{most_seconds, most_seconds};
  setrlimit(RLIMIT_CPU, &limit);
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path path(argv[i]);
    if (!std::filesystem::is_directory(path)) {
      replay(path);
      ++files;
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) replay(entry.path()), ++files;
  }
  std::printf("%d passed, 0 failed, 0 skipped\n", files);
  return files > 0 ? 0 : 1;
}
