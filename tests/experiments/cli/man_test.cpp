// The manual's pages: one for each command, and none that groff or man complains about.
#include "tests/experiments/program.h"
#include "tests/experiments/support.h"

using namespace headroom::testing;

TEST_CASE("there is a page for the program and for each command, with its options") {
  const TemporaryFolder folder;
  Program pages(folder.path(), "man --to pages");
  REQUIRE(pages.wait() == 0);
  const std::string program = read(folder / "pages/headroom.1");
  CHECK(contains(program, ".TP\n\\fBrun\\fR\n"));
  CHECK_FALSE(contains(program, "completion"));
  const std::string run = read(folder / "pages/headroom-run.1");
  CHECK(contains(run, "\\fB\\-\\-profile\\fR"));
  CHECK(contains(read(folder / "pages/headroom-data.1"), "\\fBfetch\\fR"));
  Program one(folder.path(), "man run");
  CHECK(one.wait() == 0);
  CHECK(one.out() == run);
  Program none(folder.path(), "man nothing");
  CHECK(none.wait() == 1);
  CHECK(none.err() == "headroom: error: man: 'nothing' is no command\n");
}

TEST_CASE("groff has no complaint about any page") {
  if (std::system("command -v groff >/dev/null") != 0) return skip("groff is not installed");
  const TemporaryFolder folder;
  Program pages(folder.path(), "man --to pages");
  REQUIRE(pages.wait() == 0);
  for (const auto& page : std::filesystem::directory_iterator(folder / "pages")) {
    const std::string command = "groff -man -ww -K utf8 -T utf8 '" + page.path().string() + "' >/dev/null 2>'" +
                                (folder / "complaints").string() + "'";
    CAPTURE(page.path().string());
    CHECK(std::system(command.c_str()) == 0);
    CHECK(read(folder / "complaints") == "");
  }
}

TEST_CASE("mandoc has no complaint about any page but that it names no date") {
  if (std::system("command -v mandoc >/dev/null") != 0) return skip("mandoc is not installed");
  const TemporaryFolder folder;
  Program pages(folder.path(), "man --to pages");
  REQUIRE(pages.wait() == 0);
  // A page is made by the program, which holds no time: the same source gives the same bytes.
  const std::string command =
      "cd '" + (folder / "pages").string() + "' && mandoc -T lint *.1 | grep -v 'missing date' >../complaints";
  CHECK(std::system(command.c_str()) != 0);  // grep found no line
  CHECK(read(folder / "complaints") == "");
}
