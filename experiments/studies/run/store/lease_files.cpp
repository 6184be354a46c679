#include "experiments/studies/run/store/lease_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "experiments/studies/run/store/trial_lines.h"

namespace headroom::experiments {
namespace {

using nlohmann::json;

constexpr size_t longest_lease = size_t{1} << 16;

/// Padded, so that a later one that is shorter leaves nothing of this one behind.
std::string text_of(const Lease& lease) {
  const Owner& owner = lease.owner;
  std::string text =
      json{{"label", lease.label},     {"owner", owner.name}, {"machine", owner.machine}, {"pid", owner.pid},
           {"started", owner.started}, {"step", lease.step},  {"steps", lease.steps},     {"loss", lease.loss}}
          .dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr size_t block = 512;
  text.resize((text.size() / block + 1) * block - 1, ' ');
  return text + "\n";
}

/// A lease whose owner was killed before it had written its name, or is just writing, is nobody's that is known.
void read_text(const std::string& text, Lease& lease) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return;
  try {
    lease.label = object.at("label");
    lease.owner = {object.at("owner"), object.at("machine"), object.at("pid"), object.at("started")};
    lease.step = object.at("step");
    lease.steps = object.at("steps");
    const json& loss = object.at("loss");
    lease.loss = loss.is_number() ? loss.get<double>() : std::nan("");
  } catch (const json::exception&) {
    lease.owner = {};
  }
}

void write_lease(const OpenFile& file, const Lease& lease) {
  if (!file.write(0, text_of(lease))) file.complain("cannot be written");
}

/// None where there is no file. One that may not be read is nobody's that is known.
std::optional<Lease> read_lease(const OpenFolder& folder, const std::string& trial) {
  const OpenFile file(folder, trial, O_RDONLY);
  if (file.is_missing() || file.other()) return std::nullopt;
  if (!file.is_open() && !file.is_refused()) file.complain("cannot be read");
  const std::optional<FileLook> look = file.is_open() ? file.look() : folder.look_at(trial);
  if (!look) return std::nullopt;
  Lease lease;
  lease.trial = trial;
  lease.heartbeat = look->changed_at();
  if (file.is_open()) read_text(file.read(0, longest_lease), lease);
  return lease;
}

double server_time(const OpenFolder& folder) {
  const char* const name = ".clock";
  for (int tries = 0; tries < 2; ++tries) {
    const OpenFile clock(folder, name, O_RDWR | O_CREAT);
    if (clock.is_open() && futimens(clock.fd(), nullptr) == 0) return clock.look().changed_at();
    if (!clock.other() || faccessat(folder.fd(), ".", W_OK, 0) != 0) break;
    folder.set_aside(name);
  }
  return wall_clock();
}

/// Takes an old lease away: of several who see it one at a time looks again, or else it might be a new one by then.
/// False for the others.
bool remove_old(const OpenFolder& folder, const Lease& old) {
  const std::string door = fmt::format(".{}.heir", old.trial);
  const OpenFile heir(folder, door, O_RDWR | O_CREAT | O_EXCL);
  if (!heir.is_open()) {
    if (!heir.is_taken()) heir.complain("cannot be made");
    const std::optional<FileLook> other = folder.look_at(door);
    if (other && other->other) folder.set_aside(door);
    else if (other && server_time(folder) - other->changed_at() > lease_seconds) folder.remove(door);  // killed here
    return false;
  }
  const std::optional<Lease> again = read_lease(folder, old.trial);
  if (again && std::tie(again->owner.name, again->heartbeat) == std::tie(old.owner.name, old.heartbeat))
    folder.remove(old.trial);
  folder.remove(door);
  return true;
}

}  // namespace

double LeaseFiles::now() const {
  const OpenFolder folder(folder_);
  return folder.is_open() ? server_time(folder) : wall_clock();
}

bool LeaseFiles::take(const Lease& lease, const StillCounts& still_counts) const {
  make_inner_folder(folder_);
  const RequiredFolder folder(folder_);
  for (int tries = 0; tries < 3; ++tries) {
    const OpenFile file(folder, lease.trial, O_RDWR | O_CREAT | O_EXCL);
    if (file.is_open()) {
      try {
        write_lease(file, lease);
      } catch (const Error&) {
        folder.remove(lease.trial);
        throw;
      }
      return true;
    }
    if (!file.is_taken()) file.complain("cannot be made");
    if (const auto look = folder.look_at(lease.trial); look && look->other) folder.set_aside(lease.trial);
    const std::optional<Lease> there = read_lease(folder, lease.trial);
    if (!there) continue;
    if (still_counts(*there, server_time(folder))) return false;
    if (!remove_old(folder, *there)) return false;
  }
  return false;
}

bool LeaseFiles::is_held_by(const std::string& trial, const Owner& owner) const {
  const OpenFolder folder(folder_);
  if (!folder.is_open() && !folder.is_missing()) folder.complain();
  const std::optional<Lease> there = folder.is_open() ? read_lease(folder, trial) : std::nullopt;
  return there && there->owner.name == owner.name;
}

bool LeaseFiles::renew(const Lease& lease) const {
  const OpenFolder folder(folder_);
  const OpenFile file(folder, lease.trial, O_RDWR);
  if (file.is_missing() || file.other()) return false;
  if (!file.is_open()) file.complain("cannot be renewed");
  Lease there;
  read_text(file.read(0, longest_lease), there);
  if (there.owner.name != lease.owner.name) return false;
  there.step = lease.step;
  there.steps = lease.steps;
  there.loss = lease.loss;
  write_lease(file, there);
  if (futimens(file.fd(), nullptr) != 0) file.complain("cannot be renewed");
  return true;
}

void LeaseFiles::release(const std::string& trial, const Owner& owner) const {
  if (is_held_by(trial, owner)) OpenFolder(folder_).remove(trial);
}

std::vector<Lease> LeaseFiles::all() const {
  std::vector<Lease> leases;
  const OpenFolder folder(folder_);
  if (folder.is_missing()) return leases;
  if (!folder.is_open()) folder.complain();
  for (const std::string& name : folder.names())
    if (is_trial_id(name))
      if (std::optional<Lease> lease = read_lease(folder, name)) leases.push_back(std::move(*lease));
  if (leases.empty()) return leases;
  const double ahead = wall_clock() - server_time(folder);  // of this host's clock
  for (Lease& lease : leases) lease.heartbeat += ahead;
  std::sort(leases.begin(), leases.end(),
            [](const Lease& a, const Lease& b) { return std::tie(a.label, a.trial) < std::tie(b.label, b.trial); });
  return leases;
}

}  // namespace headroom::experiments
