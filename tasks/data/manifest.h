#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::tasks {

/// A piece of a file, as a member of a ZIP archive (a Python wheel).
struct DataPiece {
  std::string url, member;
  int64_t bytes = -1;  ///< of the archive
  std::string sha256;  ///< of the archive
};

/// A data set's file, as described in the manifest.
struct DataFile {
  std::string path;                 ///< below a data folder: "tinyshakespeare/input.txt"
  std::string url;                  ///< "" = no known URL serves exactly these bytes
  int64_t bytes = -1;               ///< -1: unknown
  std::string sha256;               ///< 64 hexadecimal digits of known-good bytes; "" = unverified
  std::vector<DataPiece> pieces{};  ///< instead of a URL: joined in order, they are the file
};

struct DataSet {
  std::string name;  ///< its folder below a data folder
  std::string title, licence, source;
  std::vector<DataFile> files;
};

/// The built-in manifest: manifest.json in this folder.
const std::vector<DataSet>& built_in_manifest();

/// Parses a manifest. Throws Error, without the file's name, if it is invalid, for example if a path leaves its data
/// set's folder.
std::vector<DataSet> parse_manifest(std::string_view json);

/// The data set with that name, or with that one file of it ("models/gemma-3-270m-q4_k_m.gguf"). Throws Error that
/// lists the sets.
DataSet data_set_named(const std::vector<DataSet>& manifest, const std::string& name);

}  // namespace headroom::tasks
