#include "tasks/data/sha256.h"

#include <fstream>

#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::tasks;
using headroom::testing::error_of;
using headroom::testing::TemporaryFolder;

TEST_CASE("SHA-256 of the standard's examples, whole and in pieces") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 pieces;
  pieces.add("a");
  pieces.add("bc");
  CHECK(pieces.hex() == sha256("abc"));
}

TEST_CASE("a file's hash is that of its bytes; a missing one is named") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "long.bin";
  const std::string bytes = std::string(200000, 'x') + '\0' + "end";
  std::ofstream(path, std::ios::binary) << bytes;
  CHECK(sha256_of_file(path) == sha256(bytes));
  CHECK(headroom::testing::contains(error_of([&] { sha256_of_file(folder.path() / "none"); }),
                                    "none: cannot read the file"));
}
