#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/toml/value.h"

namespace headroom::hostile {

/// A file of a case's folder: what README.md in this folder lists under "Files".
struct FileSpec {
  std::string name;
  enum class Kind { bytes, fifo, folder, link } kind = Kind::bytes;
  std::string bytes;  ///< contents, or what a link points to
  // Behind the bytes; not made before the file is: what this process holds counts as its children's memory.
  std::string unit;
  int64_t times = 0;
  std::string tail;
  int mode = -1;  ///< permissions, or -1
};

/// What the first line of a stream has to be.
struct Line {
  std::string text;
  enum class Match { exact, starts, contains } match = Match::exact;
};

/// How the program's three streams are connected: a path such as /dev/full, or "closed"; "" is the default.
struct Streams {
  std::string in, out, err;
  std::optional<std::string> text;  ///< what standard input gives
};

/// One run of the program and what it has to answer.
struct Case {
  std::string name, source;           ///< its name and the file that it is in
  std::vector<std::string> fixtures;  ///< folders made once, copied into the case's
  std::vector<FileSpec> files;
  std::vector<std::pair<std::string, std::string>> byte_edits;  ///< (file, edit), after all files are there
  std::map<std::string, std::string> environment;
  std::vector<std::string> arguments;
  Streams streams;
  int status = 1;
  std::optional<Line> out, err;
  std::vector<std::string> leaves;  ///< names in the folder that may be made or changed although the status is not 0
  std::vector<std::string> makes;   ///< names that must be there afterwards
  std::vector<std::string> absent;  ///< names that must not
  std::string needs;                ///< a path below HEADROOM_DATA, {input}; without it the case is skipped
  std::string script;               ///< what bash runs instead of the program, which is $HEADROOM there
  std::vector<std::string> has, lacks;  ///< texts that must, and must not, occur in what either stream says
  std::vector<std::pair<std::string, experiments::Value>> json;  ///< JSON pointer into standard output → value there
  double within = 1e-5;                                          ///< relative difference allowed to its numbers
  bool is_unprivileged = false;
  bool is_limited = false;  ///< it is about the limit on memory, which the sanitizers leave out
  double seconds = 20;
  int64_t megabytes = 512;  ///< of resident memory
};

/// A folder that several cases start from.
struct Fixture {
  std::vector<FileSpec> files;
  std::vector<std::vector<std::string>> commands;
};

struct Suite {
  std::vector<Case> cases;
  std::map<std::string, Fixture> fixtures;
};

/// Reads every *.toml of a folder and expands the families. `places` are placeholders such as {source}. Throws Error
/// naming file and line.
Suite read_suite(const std::filesystem::path& folder, const std::map<std::string, std::string>& places);

/// `text` with each {name} of `places` in place.
std::string filled(std::string text, const std::map<std::string, std::string>& places);

}  // namespace headroom::hostile
