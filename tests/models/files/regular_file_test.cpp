#include "models/files/regular_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <fstream>

#include "models/files/atomic_file.h"
#include "models/files/mapped_file.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace {

using namespace headroom::models;
using headroom::testing::error_of;
using headroom::testing::TemporaryFolder;
using headroom::testing::write_bytes;

constexpr FileKind note{"note", 70000};

std::string refusal(const std::filesystem::path& path) {
  const std::string read = error_of([&] { read_file(path, note); });
  CHECK(error_of([&] { MappedFile(path, note); }) == read);
  return read;
}

}  // namespace

TEST_CASE("only regular files of their kind's size are read") {
  const TemporaryFolder folder;
  write_bytes(folder / "whole", std::string(70000, 'x'));
  write_bytes(folder / "empty", "");
  write_bytes(folder / "long", std::string(70001, 'x'));
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink("pipe", folder / "link");

  CHECK(read_file(folder / "whole", note) == std::string(70000, 'x'));
  CHECK(read_file(folder / "empty", note).empty());
  const std::string at = folder.path().string() + "/";
  CHECK(refusal(folder / "long") == at + "long: has 70001 bytes; a note may have 70000");
  CHECK(refusal(folder / "pipe") == at + "pipe: is a named pipe, not a note");
  CHECK(refusal(folder / "link") == at + "link: is a named pipe, not a note");
  CHECK(refusal(folder.path()) == folder.path().string() + ": is a folder, not a note");
  CHECK(refusal("/dev/zero") == "/dev/zero: is a device, not a note");
  CHECK(refusal(folder / "none") == at + "none: cannot read the note: No such file or directory");
  CHECK(refusal(std::string("a\0b", 3)) == "a: a file's name holds no zero byte");
}

TEST_CASE("files that say 0 bytes are read to their end") {
  CHECK(read_file("/proc/self/status", note).find("Name:") != std::string::npos);
}

TEST_CASE("pages that are given back leave memory and come from the file again") {
  const TemporaryFolder folder;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::string bytes(5 * page + 100, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
  write_bytes(folder / "pages", bytes);
  const MappedFile file(folder / "pages");
  const auto held = [&] {
    // This mapping's: mincore() would count the cache of the system.
    std::ifstream maps("/proc/self/smaps");
    const std::string start = fmt::format("{:x}-", reinterpret_cast<uintptr_t>(file.data()));
    for (std::string line; std::getline(maps, line);)
      if (line.starts_with(start))
        while (std::getline(maps, line))
          if (line.starts_with("Rss:")) return std::stoul(line.substr(4)) * 1024 / page;
    return size_t{0};
  };
  CHECK(std::string(file.text()) == bytes);
  CHECK(held() == 6);
  file.release(10, 4 * page + 10);  // pages 1 to 3 whole
  CHECK(held() == 3);
  CHECK(std::string(file.text()) == bytes);
  file.release(0, 1000 * page);
  file.release(page, page);
  file.release(3 * page, 2 * page);
  CHECK(std::string(file.text()) == bytes);
}

TEST_CASE("a written file replaces no device, pipe or folder") {
  const TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::string complaint = error_of([&] { AtomicFile{folder / "pipe"}; });
  CHECK(complaint == (folder / "pipe").string() + ": is a device or a pipe, which a file would replace; name another");
  CHECK(error_of([&] { AtomicFile{folder.path()}; }) ==
        folder.path().string() + ": is a folder, which a file would replace; name another");
  CHECK(std::filesystem::is_fifo(folder / "pipe"));
}
