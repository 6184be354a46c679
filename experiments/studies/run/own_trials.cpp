#include "experiments/studies/run/own_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <vector>

#include "engine/cpu/kernel_level.h"
#include "engine/error.h"
#include "experiments/studies/run/store/digest.h"
#include "experiments/studies/run/store/open_file.h"
#include "models/files/entries_of.h"
#include "tasks/training/checkpoint.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// The trial of a file that was not finished: ID of `ID.OWNER.staged`, and of `.ID.….tmp`, which is that one, or an
/// older program's file, while it is written. "" for other files.
std::string trial_of_unfinished(const fs::path& file) {
  const std::string name = file.filename().string();
  const size_t begin = name.starts_with(".") ? 1 : 0;
  if (!name.ends_with(begin ? ".tmp" : ".staged")) return "";
  return name.substr(begin, name.find('.', begin) - begin);
}

void discard(const fs::path& file) {
  std::error_code ignored;
  fs::remove(file, ignored);
}

/// Sets a folder in the file's place aside: an ended trial is kept whatever lies there.
void move_to(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(to, error))) OpenFolder(to.parent_path()).set_aside(to.filename());
  fs::rename(from, to, error);
  require(!error, "{}: cannot be replaced: {}", to.string(), error.message());
}

/// Removes the file at the end, unless it was renamed.
struct Staged {
  const fs::path path;
  explicit Staged(fs::path where) : path(std::move(where)) {}
  ~Staged() { discard(path); }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
};

}  // namespace

LeaseKeeper::LeaseKeeper(RunStore& store) : store_(store), thread_([this] { renew_until_stopped(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool LeaseKeeper::update(const std::string& trial, int64_t step, int64_t steps, double loss) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(trial);
  if (found == held_.end()) return false;
  found->second.step = step;
  found->second.steps = steps;
  found->second.loss = loss;
  return !lost_.contains(trial);
}

void LeaseKeeper::renew_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(renewal_seconds), [this] { return is_stopped_; })) {
    try {  // also out of memory: nobody catches what leaves a thread
      std::vector<Lease> leases;
      for (const auto& [trial, lease] : held_) leases.push_back(lease);
      lock.unlock();
      const auto lost = leases.empty() ? std::vector<std::string>() : store_.renew(leases, wall_clock());
      lock.lock();
      for (const std::string& trial : lost)
        if (held_.contains(trial)) lost_.insert(trial);
    } catch (const std::exception&) {  // the next renewal tries again
      if (!lock.owns_lock()) lock.lock();
    }
  }
}

LeaseKeeper::Hold::Hold(LeaseKeeper& keeper, std::string trial) : keeper_(keeper), trial_(std::move(trial)) {
  const std::lock_guard lock(keeper_.mutex_);
  keeper_.lost_.erase(trial_);
  Lease& lease = keeper_.held_[trial_];
  lease.trial = trial_;
  lease.owner = keeper_.owner_;
}

LeaseKeeper::Hold::~Hold() {
  {
    const std::lock_guard lock(keeper_.mutex_);
    keeper_.held_.erase(trial_);
    keeper_.lost_.erase(trial_);
  }
  try {
    keeper_.store_.release(trial_, keeper_.owner_);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a lease that stays ends by itself
  }
}

OwnedFiles::OwnedFiles(fs::path folder, RunStore& store, const Owner& owner)
    : folder_(std::move(folder)), store_(store), owner_(owner) {}

fs::path OwnedFiles::checkpoint(const std::string& id) const { return folder_ / "checkpoints" / (id + ".safetensors"); }

fs::path OwnedFiles::weights(const std::string& id) const { return folder_ / "weights" / (id + ".safetensors"); }

fs::path OwnedFiles::stages() const {
  std::string name = engine::kernel_level();
  std::erase(name, ',');
  std::replace(name.begin(), name.end(), ' ', '-');
  const fs::path all = folder_ / "stages", own = all / name;
  std::error_code error;
  for (const fs::path& folder : {all, own})
    require(!fs::is_symlink(fs::symlink_status(folder, error)), "{}: is a link, not a folder; move it aside",
            folder.string());
  return own;
}

fs::path OwnedFiles::staged(const fs::path& file) const {
  // An owner's name may contain characters that file names cannot.
  const std::string owner = Digest().add(owner_.name).hex().substr(0, 16);
  return file.parent_path() / fmt::format("{}.{}.staged", file.stem().string(), owner);
}

KeptWeights OwnedFiles::look_at_weights(const std::string& id, const std::string& checksum) const {
  const fs::path file = weights(id);
  if (!fs::exists(file)) return KeptWeights::missing;
  try {
    const bool is_same = tasks::check_weights(models::SafetensorsFile(file, models::run_file)) == checksum;
    return is_same ? KeptWeights::sound : KeptWeights::changed;
  } catch (const Error&) {
    return KeptWeights::changed;
  }
}

void OwnedFiles::prepare(const std::string& id) {
  make_inner_folder(folder_ / "checkpoints");
  store_.while_held(id, owner_, [&] {
    if (std::error_code error; !fs::is_regular_file(fs::symlink_status(checkpoint(id), error))) discard(checkpoint(id));
    for (const char* kind : {"checkpoints", "weights"})
      for (const fs::path& file : models::entries_if_any(folder_ / kind))
        if (trial_of_unfinished(file) == id) discard(file);
  });
}

bool OwnedFiles::keep_checkpoint(const std::string& id, const std::function<void(const fs::path&)>& write) {
  const Staged file(staged(checkpoint(id)));
  make_inner_folder(file.path.parent_path());  // in a shared folder another process's tidy() may just have removed it
  write(file.path);
  return store_.while_held(id, owner_, [&] { move_to(file.path, checkpoint(id)); });
}

bool OwnedFiles::keep_outcome(TrialRecord& trial, const models::NamedTensors& weights) {
  const fs::path final_path = this->weights(trial.id);
  const Staged file(staged(final_path));
  if (!weights.empty()) {
    make_inner_folder(final_path.parent_path());
    try {
      trial.weights = tasks::save_weights(file.path, weights,
                                          {{"trial", trial.id}, {"config", trial.config}, {"headroom", trial.code}});
    } catch (const Error&) {
      // The new owner has removed the file that this one was writing.
      if (!store_.while_held(trial.id, owner_, [] {})) return false;
      throw;
    }
  }
  // Killed between the rename and the commit, the weights are there without their row, or beside an older one: the next
  // run trains the trial to the same bits, since it is not finished or look_at_weights() finds them changed.
  const bool is_kept = store_.put(trial, &owner_, [&] {
    if (!weights.empty()) move_to(file.path, final_path);
  });
  // Nobody trains it again before this one's next look; a kill right here leaves the file to tidy().
  if (is_kept) discard(checkpoint(trial.id));
  return is_kept;
}

void OwnedFiles::tidy() {
  const auto known = store_.known();
  // Listed before the leases: in a shared folder, where those do not stand still, whose file is there has a lease, or
  // had it and has ended, or is gone.
  std::vector<fs::path> files;
  for (const char* kind : {"checkpoints", "weights"})
    for (fs::path& file : models::entries_if_any(folder_ / kind)) files.push_back(std::move(file));
  const auto is_finished = [&](const std::string& trial) {
    const auto found = known.find(trial);
    return found != known.end() && found->second.is_finished;
  };
  std::vector<Lease> left;  // by those who were killed between the end of a trial and its lease's
  store_.while_leases_stand([&](const std::vector<Lease>& leases) {
    std::set<std::string> trained;
    for (const Lease& lease : leases) {
      if (!is_gone(lease.owner)) trained.insert(lease.trial);
      else if (is_finished(lease.trial)) left.push_back(lease);
    }
    for (const fs::path& file : files) {
      const std::string id = trial_of_unfinished(file);
      if (!id.empty() && !trained.contains(id)) discard(file);
      if (file.parent_path().filename() != "checkpoints") continue;
      const std::string trial = file.stem().string();
      if (file.extension() == ".safetensors" && is_finished(trial) && !trained.contains(trial)) discard(file);
    }
    // Those who hold a lease may have found it there, and not yet put anything into it.
    if (trained.empty()) discard(folder_ / "checkpoints");  // only if it is empty
  });
  for (const Lease& lease : left) store_.release(lease.trial, lease.owner);
}

}  // namespace headroom::experiments
