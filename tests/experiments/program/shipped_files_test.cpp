// Where the program finds studies: by path, by id, in experiments/ of the working folder, and next to an installed
// program.
#include "tests/experiments/program.h"
#include "tests/experiments/support.h"

using namespace headroom::testing;

namespace {

/// The first line of what `arguments` print on standard output or, where they fail, on standard error.
std::string first_line(const std::filesystem::path& folder, const std::string& arguments) {
  Program program(folder, arguments);
  const std::string text = program.wait() == 0 ? program.out() : program.err();
  return text.substr(0, text.find('\n'));
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("a study is named by its file or by its id") {
  const TemporaryFolder folder;
  write(folder / "experiments" / "small.toml", small_study());
  write(folder / "mine.toml", replaced(small_study(), "\"small\"", "\"mine\""));
  CHECK(contains(first_line(folder.path(), "run experiments/small.toml --threads 1"), "small · "));
  CHECK(contains(first_line(folder.path(), "run small --threads 1"), "small · "));
  CHECK(contains(first_line(folder.path(), "run mine --threads 1"), "mine · "));
  CHECK(first_line(folder.path(), "run smal") ==
        "headroom: error: smal: is neither a study file nor the id of a study here; did you mean small?");
  write(folder / "experiments" / "other-one.toml", small_study());
  CHECK(contains(first_line(folder.path(), "run other"), "did you mean other-one?"));
  CHECK(contains(first_line(folder.path(), "run none"), "study here; headroom list shows those that there are"));
  std::filesystem::create_directory(folder / "small");  // a folder of that name hides no study
  CHECK(contains(first_line(folder.path(), "run small --threads 1"), "small · "));
}

TEST_CASE("an installed program finds its studies beside itself, wherever it was moved") {
  const TemporaryFolder folder;
  REQUIRE(std::getenv("HEADROOM_PROGRAM") != nullptr);
  unsetenv("HEADROOM_SHARE");  // which a launcher may have set
  const std::string built = std::getenv("HEADROOM_PROGRAM");
  std::filesystem::create_directories(folder / "moved/bin");
  std::filesystem::copy_file(built, folder / "moved/bin/headroom");
  write(folder / "moved/share/headroom/experiments/small.toml", small_study());
  const std::filesystem::path elsewhere = folder / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  setenv("HEADROOM_PROGRAM", (folder / "moved/bin/headroom").c_str(), 1);
  Program list(elsewhere, "list");
  CHECK(list.wait() == 0);
  CHECK(contains(list.out(), "moved/share/headroom/experiments/small.toml\n"));
  CHECK(contains(first_line(elsewhere, "run small --threads 1"), "small · "));
  CHECK(contains(first_line(elsewhere, "run experiments/small.toml --threads 1"), "small · "));
  std::filesystem::create_directory(elsewhere / "experiments");  // one's own folder goes first
  write(elsewhere / "experiments/small.toml", "[study\n");
  CHECK(contains(first_line(elsewhere, "run small"), "experiments/small.toml:1:7: malformed TOML"));
  setenv("HEADROOM_PROGRAM", built.c_str(), 1);
  std::filesystem::create_directories(folder / "share/experiments");
  write(folder / "share/experiments/other.toml", replaced(small_study(), "\"small\"", "\"other\""));
  setenv("HEADROOM_SHARE", (folder / "share").c_str(), 1);
  CHECK(contains(first_line(folder.path(), "run other --threads 1"), "other · "));
  unsetenv("HEADROOM_SHARE");
}
