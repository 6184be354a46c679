#include "models/files/regular_file.h"

#include <sys/stat.h>

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
  CHECK(refusal(folder / "pipe") == at + "pipe: is a named pipe; wanted a note");
  CHECK(refusal(folder / "link") == at + "link: is a named pipe; wanted a note");
  CHECK(refusal(folder.path()) == folder.path().string() + ": is a folder; wanted a note");
  CHECK(refusal("/dev/zero") == "/dev/zero: is a device; wanted a note");
  CHECK(refusal(folder / "none") == at + "none: cannot read the note: No such file or directory");
  CHECK(refusal(std::string("a\0b", 3)) == "a: a file's name holds no zero byte");
}

TEST_CASE("files that say 0 bytes are read to their end") {
  CHECK(read_file("/proc/self/status", note).find("Name:") != std::string::npos);
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
