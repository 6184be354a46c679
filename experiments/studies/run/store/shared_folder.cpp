#include "experiments/studies/run/store/shared_folder.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "engine/error.h"
#include "models/files/staging_folder.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// f_type of statfs(2), from linux/magic.h and the file systems' own sources.
constexpr std::array<uint32_t, 12> network_types{
    0x00006969,  // NFS
    0x0000517b,  // SMB
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB 2
    0x0bd00bd0,  // Lustre
    0x47504653,  // GPFS
    0x00c36400,  // CephFS
    0x19830326,  // BeeGFS
    0x5346414f,  // AFS
    0x7461636f,  // OCFS2
    0x01161970,  // GFS2
    0xaad7aaea,  // PanFS
};

void copy_store(const RunStore& from, const fs::path& shards) {
  make_run_folder(shards);
  Shards to(shards);
  std::vector<TrialRecord> trials;
  from.each([&](TrialRecord&& trial) { trials.push_back(std::move(trial)); });
  to.append(trials);
  const RunFacts facts = from.facts();
  to.keep_plan(facts);
  to.keep_notes(facts);
}

void take_along(const RunStore& from, const fs::path& store) {
  RunStore(store, RunStore::Access::read).take_over(from.facts(), [&](const RunStore::TakeTrial& take) {
    from.each([&](TrialRecord&& trial) { take(trial); });
  });
}

/// Gives a store another name, and overwrites nothing. What its write-ahead log has goes along.
void move_store_away(const fs::path& run) {
  const OpenFolder folder(run);
  const std::string name = "store.sqlite";
  std::string free = name + ".before-shards";
  for (int n = 2; !folder.move(name, free); ++n) free = fmt::format("{}.before-shards-{}", name, n);
  for (const char* ending : {"-wal", "-shm"}) folder.move(name + ending, free + ending);
}

}  // namespace

bool is_shared(const fs::path& run) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(run / "shards", error);
  return fs::is_directory(status) || fs::is_symlink(status);
}

bool has_store_file(const fs::path& run) {
  std::error_code error;
  return fs::exists(fs::symlink_status(run / "store.sqlite", error));
}

bool is_on_network(const fs::path& folder) {
  std::error_code error;
  fs::path there = fs::absolute(folder, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  struct statfs about {};
  if (statfs(there.c_str(), &about) != 0) return false;
  return std::count(network_types.begin(), network_types.end(), static_cast<uint32_t>(about.f_type)) > 0;
}

void merge_ended_shards(const fs::path& run) {
  if (!is_shared(run)) return;
  try {
    SharedFolder folder(run);
    std::set<std::string> writers;
    for (const Lease& lease : folder.leases.all()) writers.insert(writer_name(lease.owner));
    folder.shards.merge(folder.leases.now(), writers);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): such as a folder that may only be read
  }
}

void share_run(const fs::path& run) {
  const fs::path shards = run / "shards", store = run / "store.sqlite";
  if (!has_store_file(run)) return make_inner_folder(shards);
  try {
    const RunStore reading(store, RunStore::Access::read_file);
    RunStore(store, RunStore::Access::read_file).while_leases_stand([&](const std::vector<Lease>& leases) {
      for (const Lease& lease : leases)
        require(!is_alive(lease), "{}: process {} trains a trial of it; stop that one before its folder is shared",
                store.string(), lease.owner.pid);
      if (is_shared(run)) return take_along(reading, store);
      models::StagingFolder fresh(shards);
      copy_store(reading, fresh.path() / "shards");
      fresh.publish("shards", models::Replace::never);
    });
  } catch (const Error&) {
    if (has_store_file(run) || !is_shared(run)) throw;  // else another process was faster
  }
  move_store_away(run);
}

}  // namespace headroom::experiments
