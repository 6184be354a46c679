// The manual's pages: one for each command, and none that groff or man complains about.
#include <sstream>

#include "tests/experiments/program.h"
#include "tests/experiments/support.h"

using namespace headroom::testing;

TEST_CASE("there is a page for the program and for each command, with its options") {
  const TemporaryFolder folder;
  Program pages(folder.path(), "man --to pages");
  REQUIRE(pages.wait() == 0);
  const std::string program = read(folder / "pages/headroom.1");
  CHECK(contains(program, ".TP\n\\fBrun\\fR\n"));
  CHECK(contains(program, ".SH COMMANDS\n.SS Studies\n.TP\n"));
  CHECK(contains(program, ".SS Tools\n"));
  CHECK_FALSE(contains(program, "\\fBcompletion\\fR"));
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

TEST_CASE("help prints what --help does, with options under headings, as the page has them") {
  const TemporaryFolder folder;
  for (const std::string command : {"compress", "data fetch", "probe"}) {
    CAPTURE(command);
    Program help(folder.path(), "help " + command), option(folder.path(), command + " --help", "", "option-");
    CHECK(help.wait() == 0);
    CHECK(option.wait() == 0);
    CHECK(help.out() == option.out());
  }
  Program whole(folder.path(), "help"), option(folder.path(), "--help", "", "option-");
  CHECK(whole.wait() == 0);
  CHECK(option.wait() == 0);
  CHECK(contains(whole.out(), "headroom help COMMAND"));
  size_t last = 0;
  for (const std::string group : {"Studies", "Models", "Planning", "Tools"}) {
    const size_t at = whole.out().find("\n" + group + ":\n");
    CAPTURE(group);
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
  }
  std::istringstream lines(whole.out().substr(whole.out().find("Usage")));
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
  std::istringstream screen(option.out());
  int count = 0;
  for (std::string line; std::getline(screen, line); ++count) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
  CHECK(count <= 24);
  for (const char* command : {"run", "doctor", "verify-model"}) CHECK(contains(option.out(), command));
  Program compress(folder.path(), "help compress"), page(folder.path(), "man compress", "", "page-");
  CHECK(compress.wait() == 0);
  CHECK(page.wait() == 0);
  CHECK_FALSE(contains(compress.out(), "headroom help COMMAND"));
  size_t before = 0, before_in_page = 0;
  for (const std::string heading : {"What to cut", "Texts to calibrate and measure on", "Refinement", "Output"}) {
    CAPTURE(heading);
    const size_t at = compress.out().find("\n" + heading + ":\n"), in_page = page.out().find(".SS " + heading + "\n");
    REQUIRE(at != std::string::npos);
    REQUIRE(in_page != std::string::npos);
    CHECK(at > before);
    CHECK(in_page > before_in_page);
    before = at, before_in_page = in_page;
  }
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
