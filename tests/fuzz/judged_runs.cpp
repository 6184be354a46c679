#include <cstdlib>
#include <filesystem>

#include "engine/error.h"
#include "experiments/studies/export/event_record.h"
#include "experiments/studies/export/wandb_log.h"
#include "experiments/studies/run/store/database.h"
#include "experiments/tools/judge/readers/logs.h"
#include "experiments/tools/judge/readers/run_files.h"
#include "experiments/tools/judge/readers/table.h"
#include "tests/fuzz/scratch_file.h"

namespace {

using headroom::fuzz::ScratchFile;
using namespace headroom::experiments;
using Problems = std::vector<std::string>;

/// Bytes in pieces, between which stand four bytes that seeds have.
std::vector<std::string> pieces(const std::string& bytes) {
  const std::string between("\xFF\x00|\n", 4);
  std::vector<std::string> out;
  for (size_t at = 0; at <= bytes.size();) {
    const size_t end = std::min(bytes.find(between, at), bytes.size());
    out.push_back(bytes.substr(at, end - at));
    at = end + between.size();
  }
  return out;
}

const std::filesystem::path& file_of(const ScratchFile& file, const std::string& bytes) {
  return file.holding(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

void read_tables(const RunTable& table) {
  RunRoles roles;
  std::vector<ForeignRun> runs = runs_of(table, roles).runs;
  for (const ForeignRun& run : runs)
    for (const auto& parameter : run.parameters) (void)sort_of_name(parameter.first);
}

/// What is behind the first byte, by the reader that it names.
void read(unsigned char reader, const std::string& bytes) {
  static const ScratchFile file("file");
  Problems problems;
  ForeignRun run;
  switch (reader % 12) {
    case 0:
      return read_tables(read_csv(file_of(file, bytes), problems));
    case 1:
      return read_tables(read_json_lines(file_of(file, bytes), problems));
    case 2:
      return read_event_file(file_of(file, bytes), run, problems);
    case 3: {  // records whose checksums fit
      std::string records;
      for (const std::string& piece : pieces(bytes)) records += event_record(piece);
      return read_event_file(file_of(file, records), run, problems);
    }
    case 4:
      return (void)read_wandb_file(file_of(file, bytes), problems);
    case 5: {
      WandbLog log;
      for (const std::string& piece : pieces(bytes)) log.add(piece);
      return (void)read_wandb_file(file_of(file, log.bytes()), problems);
    }
    case 6:
      return (void)read_optuna_journal(file_of(file, bytes), problems);
    case 7:
      return (void)read_harness_file(file_of(file, bytes));
    case 8: {
      static const ScratchFile config(".hydra/config.yaml");
      return (void)hydra_settings(file_of(config, bytes).parent_path().parent_path(), problems);
    }
    case 9: {
      static const ScratchFile meta("meta.yaml");
      return (void)read_mlflow_folder(file_of(meta, bytes).parent_path(), problems);
    }
    case 10: {
      static const ScratchFile metric("metrics/loss");
      return (void)read_mlflow_folder(file_of(metric, bytes).parent_path().parent_path(), problems);
    }
    default: {
      const Database database(file_of(file, bytes), true);
      if (database.has_table("metrics")) (void)read_mlflow_database(database);
      if (database.has_table("trial_params")) (void)read_optuna_database(database);
    }
  }
}

}  // namespace

/// A file of runs of another program. The first byte picks the reader; with HEADROOM_READER=N all go to the N-th.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const char* const only = std::getenv("HEADROOM_READER");
  try {
    read(only ? static_cast<unsigned char>(std::atoi(only)) : data[0],
         std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  } catch (const headroom::Error&) {
    return 0;
  }
  return 0;
}
