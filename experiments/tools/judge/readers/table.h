#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/tools/judge/foreign_run.h"

namespace headroom::experiments {

/// Cells that one command reads at most.
inline constexpr size_t most_cells = size_t{1} << 23;

/// Rows of named cells as a file has them: a row a run, or a row a step of a run.
struct RunTable {
  struct Row {
    int64_t line = 0;
    std::vector<std::string> cells;  ///< as many as columns; "" for none
  };
  std::string source;  ///< the file
  std::vector<std::string> columns;
  std::vector<Row> rows;
  std::map<std::string, std::string> parameters;  ///< of all rows: the words of the file's path
};

/// The runs in a table, each with all columns that stay the same in it as parameters and all columns of numbers as
/// metrics. With a column of steps, rows of one run are those with the same run, seed and arm.
ForeignRuns runs_of(const RunTable& table, const RunRoles& roles);

// Each reads the whole of a file that is intact, and names the rest.
RunTable read_csv(const std::filesystem::path& file, std::vector<std::string>& problems);  ///< also TSV; RFC 4180
RunTable read_json_lines(const std::filesystem::path& file, std::vector<std::string>& problems);  ///< or one document

}  // namespace headroom::experiments
