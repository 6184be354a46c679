#include "experiments/studies/run/store/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "experiments/studies/run/store/open_file.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t longest_claim = size_t{1} << 16;

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

/// A claim whose owner was killed before it had written its name, or is just writing, is nobody's that is known.
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

void write_claim(const OpenFile& file, const Lease& lease) {
  if (!file.write(0, text_of(lease))) file.complain("cannot be written");
}

}  // namespace

std::optional<Lease> Claims::read(const fs::path& path, const std::string& trial) const {
  const OpenFile file(path, O_RDONLY);
  if (file.is_missing()) return std::nullopt;
  if (!file.is_open()) file.complain("cannot be read");
  Lease lease;
  lease.trial = trial;
  lease.heartbeat = file.changed_at();
  read_text(file.read(0, longest_claim), lease);
  return lease;
}

double Claims::now() const {
  const OpenFile clock(folder_ / ".clock", O_RDWR | O_CREAT);
  if (!clock.is_open() || futimens(clock.fd(), nullptr) != 0) return wall_clock();
  return clock.changed_at();
}

bool Claims::take(const Lease& lease, const StillCounts& still_counts) const {
  make_run_folder(folder_);
  const fs::path path = folder_ / lease.trial;
  for (int tries = 0; tries < 2; ++tries) {
    const OpenFile file(path, O_RDWR | O_CREAT | O_EXCL);
    if (file.is_open()) {
      try {
        write_claim(file, lease);
      } catch (const Error&) {
        unlink(path.c_str());
        throw;
      }
      return true;
    }
    if (!file.is_taken()) file.complain("cannot be made");
    const std::optional<Lease> there = read(path, lease.trial);
    if (!there) continue;
    if (still_counts(*there, now())) return false;
    // Of several who see an old claim one at a time looks again and takes it away: else it might be a new one by then.
    const fs::path door = folder_ / fmt::format(".{}.heir", lease.trial);
    const OpenFile heir(door, O_RDWR | O_CREAT | O_EXCL);
    if (!heir.is_open()) {
      if (!heir.is_taken()) heir.complain("cannot be made");
      const OpenFile other(door, O_RDONLY);
      if (other.is_open() && now() - other.changed_at() > lease_seconds) unlink(door.c_str());  // it was killed here
      return false;
    }
    const std::optional<Lease> again = read(path, lease.trial);
    if (again && std::tie(again->owner.name, again->heartbeat) == std::tie(there->owner.name, there->heartbeat))
      unlink(path.c_str());
    unlink(door.c_str());
  }
  return false;
}

bool Claims::is_held_by(const std::string& trial, const Owner& owner) const {
  const std::optional<Lease> there = read(folder_ / trial, trial);
  return there && there->owner.name == owner.name;
}

bool Claims::renew(const Lease& lease) const {
  const OpenFile file(folder_ / lease.trial, O_RDWR);
  if (file.is_missing()) return false;
  if (!file.is_open()) file.complain("cannot be renewed");
  Lease there;
  read_text(file.read(0, longest_claim), there);
  if (there.owner.name != lease.owner.name) return false;
  there.step = lease.step;
  there.steps = lease.steps;
  there.loss = lease.loss;
  write_claim(file, there);
  if (futimens(file.fd(), nullptr) != 0) file.complain("cannot be renewed");
  return true;
}

void Claims::release(const std::string& trial, const Owner& owner) const {
  if (is_held_by(trial, owner)) unlink((folder_ / trial).c_str());
}

std::vector<Lease> Claims::all() const {
  std::vector<Lease> leases;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(".")) continue;
    if (std::optional<Lease> lease = read(entry->path(), name)) leases.push_back(std::move(*lease));
  }
  if (leases.empty()) return leases;
  const double ahead = wall_clock() - now();  // of this host's clock
  for (Lease& lease : leases) lease.heartbeat += ahead;
  std::sort(leases.begin(), leases.end(),
            [](const Lease& a, const Lease& b) { return std::tie(a.label, a.trial) < std::tie(b.label, b.trial); });
  return leases;
}

}  // namespace headroom::experiments
