#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "experiments/studies/pages/report.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/folder.h"

namespace headroom::experiments::testing {

using headroom::testing::Environment;
using headroom::testing::read_bytes;
using headroom::testing::TemporaryFolder;

/// How often `part` occurs in `text`, overlaps counted.
inline int times(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The files that write_report() writes, by their names.
inline std::map<std::string, std::string> files_of(const StudyResults& results) {
  const TemporaryFolder folder;
  const std::filesystem::path runs = folder / "runs" / "quick";
  CHECK(write_report(analyse(results), runs) == runs / "report.html");
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(runs))
    files[entry.path().filename().string()] = read_bytes(entry.path());
  return files;
}

}  // namespace headroom::experiments::testing
