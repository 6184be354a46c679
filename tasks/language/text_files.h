#pragma once
#include <filesystem>
#include <string>

#include "tasks/data/roots.h"

namespace headroom::tasks {

/// The files of a text, one or one per split.
struct TextFiles {
  std::filesystem::path text, validation, test;  ///< the last two may be empty
};

/// The files of a named data set, or `source` itself as the path of a text. Throws Error that says where it looked, or
/// that a data set's file is not the manifest's (both sizes or hashes).
TextFiles find_texts(const std::string& source, const DataRoots& roots);

/// The file of the data set "code-and-math", or `source` itself. Throws Error as find_texts().
std::filesystem::path find_instructions(const std::string& source, const DataRoots& roots);

/// `path` as given, else in the first data folder that has it. Throws Error when there is none.
std::filesystem::path find_file(const std::string& path, const DataRoots& roots);

/// A file's bytes. Throws Error naming the file when it cannot be read or is empty.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace headroom::tasks
