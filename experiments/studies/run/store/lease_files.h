#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/open_file.h"

namespace headroom::experiments {

/// Leases of trials as files of a folder that several hosts share: `claims/TRIAL`, made with O_EXCL, says who trains
/// the trial; its time of change is the heartbeat. The file server sets that time, and that of a file which is touched
/// to learn what time it is there, so that no host's own clock counts. Two owners at once are possible where one was
/// stopped for longer than its lease: whoever keeps something asks is_held_by() just before, and what both may still do
/// is keep the same bits twice. Names that are no trial's are passed over, and what is no file is no lease. Every
/// function throws Error naming the file that cannot be read or written.
class LeaseFiles {
 public:
  /// `folder`: of the leases; it is made with the first.
  explicit LeaseFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Whether a lease that is there still counts, at the server's time `now`. Both times are seconds since 1970.
  using StillCounts = std::function<bool(const Lease& there, double now)>;
  /// Makes the file lease.trial, and sets aside what lies there that is no file. False when another's is there and
  /// counts, or another process is just taking it over.
  bool take(const Lease& lease, const StillCounts& still_counts) const;
  bool is_held_by(const std::string& trial, const Owner& owner) const;
  /// A new heartbeat, and how far the trial is. False when the lease is no longer the owner's.
  bool renew(const Lease& lease) const;
  void release(const std::string& trial, const Owner& owner) const;
  /// All leases, in the order of their labels, the ages of their heartbeats as seen from this host's clock.
  std::vector<Lease> all() const;
  /// What time it is at the file server; on this host where nothing can be written.
  double now() const;

 private:
  const std::filesystem::path folder_;
};

}  // namespace headroom::experiments
