#include "tasks/language/text_files.h"

#include <algorithm>
#include <array>

#include "engine/error.h"
#include "models/files/regular_file.h"
#include "tasks/data/fetch.h"
#include "tasks/data/locate.h"

namespace headroom::tasks {
namespace {

namespace fs = std::filesystem;

struct NamedSet {
  const char *name, *text, *validation, *test;
};

/// WikiText-2's test text is the one with <unk>, like its other texts: wiki.test.raw is another text.
constexpr std::array<NamedSet, 2> data_sets{{
    {"tinyshakespeare", "tinyshakespeare/input.txt", "", ""},
    {"wikitext-2", "wikitext-2/wiki.train.tokens", "wikitext-2/wiki.valid.tokens", "wikitext-2/wiki.test.tokens"},
}};

constexpr models::FileKind text_kind{"text file", uint64_t{1} << 32};

bool is_regular(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// A file of a named data set, as the manifest knows it.
fs::path find_checked(const DataRoots& roots, const std::string& name) {
  fs::path path = find_data(roots, name);
  refuse_wrong(path, name);
  return path;
}

}  // namespace

fs::path find_file(const std::string& path, const DataRoots& roots) {
  if (is_regular(path)) return path;
  for (const fs::path& folder : data_folders(roots))
    if (is_regular(folder / path)) return folder / path;
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;  // what it is instead, its reader says
  fail("{}: no such file, here or in a data folder", path);
}

bool brings_test(const std::string& source) {
  return std::any_of(data_sets.begin(), data_sets.end(),
                     [&](const NamedSet& set) { return source == set.name && *set.test; });
}

TextFiles find_texts(const std::string& source, const DataRoots& roots) {
  for (const NamedSet& set : data_sets) {
    if (source != set.name) continue;
    TextFiles files{find_checked(roots, set.text), {}, {}};
    if (*set.validation) files.validation = find_checked(roots, set.validation);
    if (*set.test) files.test = find_checked(roots, set.test);
    return files;
  }
  return {find_file(source, roots), {}, {}};
}

fs::path find_instructions(const std::string& source, const DataRoots& roots) {
  if (source == "code-and-math") return find_checked(roots, "instructions/code_and_math_14k.json");
  return find_file(source, roots);
}

std::string read_text_file(const fs::path& path) {
  std::string bytes = models::read_file(path, text_kind);
  require(!bytes.empty(), "{}: is empty", path.string());
  return bytes;
}

}  // namespace headroom::tasks
