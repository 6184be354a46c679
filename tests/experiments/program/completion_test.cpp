// What the program offers where a command line stops. tests/packaging/completions.py asks the shells themselves.
#include <set>
#include <sstream>

#include "tests/experiments/program.h"
#include "tests/experiments/support.h"

using namespace headroom::testing;

namespace {

using Words = std::set<std::string>;

/// The candidates for the last of `words`, without their help.
Words offered(const std::filesystem::path& folder, const std::vector<std::string>& words) {
  std::ofstream typed(folder / "typed.txt");
  for (const std::string& word : words) typed << word << '\n';
  typed.close();
  Program program(folder, "completion words <typed.txt");
  CHECK(program.wait() == 0);
  CHECK(program.err().empty());
  Words found;
  std::istringstream lines(program.out());
  for (std::string line; std::getline(lines, line);) found.insert(line.substr(0, line.find('\t')));
  return found;
}

}  // namespace

TEST_CASE("commands, options and values complete") {
  TemporaryFolder files;
  const auto folder = files.path();
  std::filesystem::create_directories(folder / "experiments");
  std::ofstream(folder / "experiments" / "small.toml") << small_study() << "[profile.tiny]\n[profile.large]\n";
  // Names that a shell would run are not offered, though a file may hold them.
  std::ofstream(folder / "experiments" / "odd.toml") << "[profile.tiny]\n[profile.\"$(touch x)\"]\n[profile.\"a;b\"]\n";
  std::ofstream(folder / "experiments" / "broken.toml") << "[study\n";
  CHECK(offered(folder, {"tok"}) == Words{"tokenize"});
  CHECK(offered(folder, {"data", ""}) == Words{"list", "fetch", "verify"});
  CHECK(offered(folder, {"run", "s"}) == Words{"small", ":toml"});
  CHECK(offered(folder, {"run", "small", "--prof"}) == Words{"--profile"});
  CHECK(offered(folder, {"run", "small", "--profile", ""}) == Words{"paper", "tiny", "large"});
  CHECK(offered(folder, {"run", "odd", "--profile", ""}) == Words{"paper", "tiny"});
  CHECK(offered(folder, {"run", "--profile=t"}) == Words{"--profile=tiny"});
  CHECK(offered(folder, {"report", "small", "small", "--profile", "l"}) == Words{"large"});
  CHECK(offered(folder, {"run", "small", "x"}).empty());  // it takes one study only
  CHECK(offered(folder, {"run", "small", "--jobs", ""}).empty());
  CHECK(offered(folder, {"run", "small", "--out", ""}) == Words{":folders"});
  CHECK(offered(folder, {"compress", "m.gguf", "--format", "com"}) == Words{"compat", "compact"});
  CHECK(offered(folder, {"compress", "m.gguf", "--part", ""}) == Words{"qk", "vo", "qk,vo"});
  CHECK(offered(folder, {"compress", "m.gguf", "-o", ""}) == Words{":files"});
  CHECK(offered(folder, {"run", "small", "--set", "train.optimizer.lr"}) == Words{"train.optimizer.lr="});
  CHECK(offered(folder, {"run", "small", "--set", "report.y.metric=relative"}) ==
        Words{"report.y.metric=relative_mse"});
  CHECK(offered(folder, {"run", "broken", "--set", "report.y.metric="}).empty());
  CHECK(offered(folder, {"complet"}).empty());  // hidden
  CHECK(offered(folder, {"--", "ru"}) == Words{"run"});
}

TEST_CASE("the scripts are printed, and another shell is refused") {
  const TemporaryFolder folder;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    Program program(folder.path(), "completion " + shell);
    CHECK(program.wait() == 0);
    CHECK(contains(program.out(), "completion words"));
  }
  Program tcsh(folder.path(), "completion tcsh");
  CHECK(tcsh.wait() == 2);
}
