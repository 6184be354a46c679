#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/control_groups.h"
#include "engine/cpu/kernel_level.h"
#include "engine/cpu/onednn.h"
#include "engine/error.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/transfer.h"
#include "experiments/output/units.h"
#include "experiments/output/wrap.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/studies/run/examine.h"
#include "experiments/studies/run/memory_limit.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "experiments/studies/toml/complaints.h"
#include "experiments/version.h"
#include "tasks/data/locate.h"

namespace headroom::experiments {
namespace {

/// Prints a finding, and below it its meaning.
void finding(const char* what, const std::string& found, const std::string& meaning = "") {
  constexpr size_t columns = 80, indent = 16;
  print_text("{}\n", wrapped(fmt::format("{:<16}{}", what, found), columns, indent));
  if (!meaning.empty()) print_text("{}\n", wrapped(fmt::format("{:<16}{}", "", meaning), columns, indent));
}

/// The data folder, and the files missing from it.
std::string data_folder() {
  std::string text;
  for (const std::filesystem::path& folder : tasks::data_folders(tasks::data_roots(""))) {
    std::error_code error;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", then ", folder.string(),
                        std::filesystem::is_directory(folder, error) ? "" : " (not there)");
  }
  return text.empty() ? "HEADROOM_DATA is not set" : text;
}

void examine() {
  const engine::Isa detected = engine::detected_isa(), active = engine::active_isa();
  const std::string onednn = engine::onednn_version();
  finding("headroom", version_text());
  finding("processor", engine::cpu_name());
  finding("CPU level", engine::name_of(active),
          active == detected
              ? "the best that this processor and this build have"
              : fmt::format("HEADROOM_ISA holds it below {}: kernels are slower", engine::name_of(detected)));
  const std::string source = std::getenv("HEADROOM_THREADS") ? "HEADROOM_THREADS" : engine::processor_limit().source;
  finding("threads", fmt::format("{}{}", engine::num_threads(), source.empty() ? "" : fmt::format(" (by {})", source)),
          "a study trains as many small models at once, one thread each (HEADROOM_THREADS, --threads)");
  const MemoryLimit memory = memory_limit();
  finding("memory", std::isfinite(memory.bytes) ? bytes_text(memory.bytes) : "unknown", memory.source);
  finding("data", data_folder(),
          "studies and commands look for texts and trained models there (headroom data list, fetch)");
  finding("parallel loops", engine::parallel_backend(), "results do not depend on it, nor on the number of threads");
  const std::string& products = engine::products();
  finding("products", products,
          products.starts_with("oneDNN")
              ? "large ones from AVX-512 on, those of a few rows always; other bits give other results"
              : fmt::format("oneDNN {}", onednn.empty() ? "is absent" : onednn + " multiplies nothing here"));
  finding("CUDA", engine::cuda_status(),
          engine::has_device(engine::Device::Kind::cuda)
              ? "train.device = \"cuda\" or --device cuda trains there; docs/cuda.md says what runs"
              : "everything runs on the CPU");
  for (const auto& [what, found] : engine::cuda_facts()) finding(what.c_str(), found);
}

struct DoctorArguments {
  std::vector<std::string> stores;
  bool repair = false;
};

/// The file itself, or every store.sqlite in a folder: RUNS/STUDY/PROFILE, or one above it.
std::vector<std::filesystem::path> stores_in(const std::string& place) {
  namespace fs = std::filesystem;
  if (fs::is_regular_file(place)) return {place};
  require(fs::is_directory(place), "{}: is no run store, and no folder", place);
  std::vector<fs::path> stores;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) {
    // A hidden folder is one that `rm` is deleting.
    const bool is_hidden = entry->path().filename().string().starts_with(".");
    if (is_hidden || entry.depth() > 2) entry.disable_recursion_pending();
    if (entry->path().filename() == "store.sqlite") stores.push_back(entry->path());
    // The store in a shared folder is a store in name only.
    if (entry->path().filename() == "shards" && is_shared(entry->path().parent_path()))
      stores.push_back(entry->path().parent_path() / "store.sqlite");
  }
  require(!stores.empty(), "{}: there is no run store", place);
  std::sort(stores.begin(), stores.end());
  stores.erase(std::unique(stores.begin(), stores.end()), stores.end());
  return stores;
}

/// True if all of the store is sound in the end.
bool examine_one(const std::filesystem::path& store, bool repair) {
  StoreHealth health = examine_store(store);
  for (const std::string& damage : health.damage)
    print_text("{}: {}\n", damage.starts_with("/") ? "damaged" : store.string(), damage);
  if (repair && (!health.damage.empty() || health.unchecked > 0)) {
    for (const std::string& done : repair_store(store)) print_text("repaired: {}\n", done);
    health = examine_store(store);
  }
  fmt::print(
      "{}: {} trials and {} files are sound{}{}\n", store.string(), health.sound, health.files,
      health.unchecked > 0 ? fmt::format(", {} trials have no checksum (--repair adds it)", health.unchecked) : "",
      health.damage.empty() ? "" : fmt::format(", {} damaged; --repair keeps what is sound", health.damage.size()));
  return health.damage.empty();
}

void examine_stores(const DoctorArguments& arguments) {
  bool is_sound = true;
  std::vector<std::string> problems;  // an unreadable store hides no other
  for (const std::string& place : arguments.stores)
    for (const std::filesystem::path& store : stores_in(place)) {
      try {
        is_sound = examine_one(store, arguments.repair) && is_sound;
      } catch (const Error& error) {
        problems.emplace_back(error.what());
      }
    }
  if (!problems.empty()) throw ConfigError(std::move(problems));
  if (!is_sound) throw Exit{1};
}

}  // namespace

void add_doctor_command(Command app) {
  const Command command = app.command("doctor", "look at this machine, or check the checksums of run stores");
  const auto a = std::make_shared<DoctorArguments>();
  command.option("STORE", a->stores, "store.sqlite files, or folders of runs, to read and check whole");
  const Option repair = command.flag("--repair", a->repair,
                                     "keep what is sound, set what is damaged aside for the next run to train again, "
                                     "add missing checksums");
  command.action([a, repair] {
    if (repair.is_given() && a->stores.empty()) throw UsageError("--repair: needs a STORE");
    if (a->stores.empty()) examine();
    else examine_stores(*a);
  });
}

}  // namespace headroom::experiments
