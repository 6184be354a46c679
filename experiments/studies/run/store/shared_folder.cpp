#include "experiments/studies/run/store/shared_folder.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "engine/error.h"
#include "experiments/studies/run/store/digest.h"

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

void copy_store(const fs::path& store, const fs::path& shards) {
  const RunStore from(store, RunStore::Access::read);
  Shards to(shards);
  std::vector<TrialRecord> trials;
  from.each([&](TrialRecord&& trial) { trials.push_back(std::move(trial)); });
  to.append(trials);
  const RunFacts facts = from.facts();
  to.keep_plan(facts);
  to.keep_notes(facts);
}

}  // namespace

bool is_shared(const fs::path& run) {
  std::error_code error;
  return fs::is_directory(run / "shards", error);
}

bool is_on_network(const fs::path& folder) {
  std::error_code error;
  fs::path there = fs::absolute(folder, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  struct statfs about {};
  if (statfs(there.c_str(), &about) != 0) return false;
  return std::count(network_types.begin(), network_types.end(), static_cast<uint32_t>(about.f_type)) > 0;
}

void share_run(const fs::path& run) {
  const fs::path shards = run / "shards", store = run / "store.sqlite";
  std::error_code error;
  if (!fs::exists(store, error)) return make_run_folder(shards);
  if (is_shared(run)) return fs::rename(store, store.string() + ".before-shards", error);
  const fs::path fresh = run / (".shards-" + Digest().add(this_process().name).hex().substr(0, 16));
  try {
    RunStore(store, RunStore::Access::read).while_leases_stand([&](const std::vector<Lease>& leases) {
      for (const Lease& lease : leases)
        require(!is_alive(lease), "{}: process {} trains a trial of it; stop that one before its folder is shared",
                store.string(), lease.owner.pid);
      make_run_folder(fresh);
      copy_store(store, fresh);
      fs::rename(fresh, shards, error);
      require(!error, "{}: cannot be made: {}", shards.string(), error.message());
      fs::rename(store, store.string() + ".before-shards", error);
    });
  } catch (const Error&) {
    fs::remove_all(fresh, error);
    if (!is_shared(run)) throw;  // else another process was faster
  }
}

}  // namespace headroom::experiments
