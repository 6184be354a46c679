#pragma once
#include <filesystem>
#include <string>

#include "tasks/data/locate.h"

namespace headroom::tasks {

/// A text's files: one, or one per split.
struct TextFiles {
  std::filesystem::path text, validation, test;  ///< the last two may be empty
};

/// The files of a named data set, or `source` itself as a text's path. Throws Error that says where it looked, or that
/// a data set's file differs from the manifest (both sizes or hashes).
TextFiles find_texts(const std::string& source, const DataRoots& roots);

/// Whether a named data set has a text of its own to test on.
bool brings_test(const std::string& source);

/// The file of the data set "code-and-math", or `source` itself. Throws Error as find_texts().
std::filesystem::path find_instructions(const std::string& source, const DataRoots& roots);

/// `path` as given, else in the first data folder that has it. Throws Error if there is none.
std::filesystem::path find_file(const std::string& path, const DataRoots& roots);

/// Reads a file. Throws Error naming it if it cannot be read or is empty.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace headroom::tasks
