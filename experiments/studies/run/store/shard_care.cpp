// What is done to whole shards: lines that cannot be read are taken out, and ended shards are put together.
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "engine/error.h"
#include "experiments/studies/run/store/owner.h"
#include "experiments/studies/run/store/shards.h"
#include "models/files/atomic_file.h"

namespace headroom::experiments {
namespace {

constexpr size_t fewest_merged = 16;                    ///< shards; fewer stay as they are
constexpr uint64_t largest_merged = uint64_t{1} << 24;  ///< bytes; a larger one was merged before
constexpr size_t most_held = size_t{1} << 26;           ///< bytes in memory, but for the last shard's

bool can_be_read(std::string_view line, std::string_view seal) {
  try {
    parse_shard_line(line, seal);
    return true;
  } catch (const Error&) {
    return false;
  }
}

using Seals = std::set<std::string, std::less<>>;

/// Calls `f` with every line of a shard that can be read and whose seal is none of `others`; false where there was
/// something else.
bool each_sound(const OpenFile& file, const Seals& others, const std::function<void(std::string_view)>& f) {
  LineScanner lines(file, 0, file.look().bytes);
  bool is_sound = true;
  while (const auto line = lines.next()) {
    const std::string_view seal = seal_of(*line);
    const bool is_kept = !others.contains(seal) && can_be_read(*line, seal);
    if (is_kept) f(*line);
    is_sound = is_sound && is_kept;
  }
  return is_sound && !lines.is_too_long() && seal_of(lines.rest().substr(0, lines.rest().size() - 1)).empty();
}

/// The seals of some lines of a shard. Throws Error where it has gone: its lines may now be in another one.
Seals seals_of(const OpenFile& file, const std::set<int64_t>& numbers) {
  Seals seals;
  require(file.is_there(), "{}: has gone since it was read; nothing is repaired", file.path().string());
  if (!file.is_open()) return seals;
  LineScanner lines(file, 0, file.look().bytes);
  for (int64_t number = 1; const auto line = lines.next(); ++number)
    if (numbers.contains(number)) seals.emplace(seal_of(*line));
  seals.erase("");
  return seals;
}

/// A shard that is written anew, beside the old one, without what cannot be read and the lines of some seals.
struct Cut {
  std::string name;
  std::filesystem::path path;
  int64_t kept = 0;
  std::unique_ptr<models::AtomicFile> fresh{};  ///< null where nothing is kept
};

/// Nothing where the shard is sound and has no line of those seals. Throws Error where it has gone and `is_needed`.
std::optional<Cut> cut(const OpenFolder& folder, const std::string& name, const Seals& others, bool is_needed) {
  const OpenFile file(folder, name, O_RDONLY);
  require(file.is_there() || !is_needed, "{}: has gone since it was read; nothing is repaired", file.path().string());
  if (!file.is_there()) return std::nullopt;
  Cut out{name, file.path()};
  if (file.is_open() && each_sound(file, others, [&](std::string_view) { ++out.kept; })) return std::nullopt;
  if (out.kept == 0) return out;
  out.fresh = std::make_unique<models::AtomicFile>(file.path());
  each_sound(file, others, [&](std::string_view line) {
    out.fresh->write(line.data(), line.size());
    out.fresh->write("\n", 1);
  });
  out.fresh->sync();
  return out;
}

/// Puts it in the old one's place. What was done.
std::string put_in_place(const OpenFolder& folder, Cut& cut) {
  if (cut.fresh == nullptr)
    return fmt::format("{} is now {}; the next run trains what is missing", cut.path.string(),
                       folder.set_aside(cut.name));
  const std::string old = folder.set_aside(cut.name, SetAside::copy);
  cut.fresh->commit();
  return fmt::format("{} has its sound lines, {}; the next run trains what is missing; the old file is {}",
                     cut.path.string(), cut.kept, old);
}

/// "HOST-PID" of HOST-PID.jsonl, and of HOST-PID-2.jsonl, which may also be that of another host.
std::vector<std::string> writers_of(const std::string& name) {
  const std::string stem = name.substr(0, name.find(".jsonl"));
  return {stem, stem.substr(0, stem.rfind('-'))};
}

/// Whether a process of that name, on this host, may still write.
bool is_running_here(const std::string& writer) {
  const std::string here = writer_name(this_process()), host = here.substr(0, here.rfind('-') + 1);
  if (!writer.starts_with(host)) return false;
  const long pid = std::strtol(writer.c_str() + host.size(), nullptr, 10);
  return pid > 0 && (kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH);
}

}  // namespace

std::vector<std::string> Shards::repair(const std::vector<Fault>& others) const {
  const RequiredFolder folder(folder_);
  std::map<std::string, std::set<int64_t>> lines;  // by shard
  for (const Fault& fault : others) lines[fault.file.filename().string()].insert(fault.line);
  Seals taken;  // a copy of a line in another shard was not read, and goes with it
  for (const auto& [name, numbers] : lines)
    if (is_shard(name)) taken.merge(seals_of(OpenFile(folder, name, O_RDONLY), numbers));
  // All are written before one takes its place: of two results that differ the second would count where a full disk
  // leaves it alone.
  std::vector<Cut> cuts;
  for (const std::string& name : folder.names())
    if (is_shard(name))
      if (std::optional<Cut> one = cut(folder, name, taken, lines.contains(name))) cuts.push_back(std::move(*one));
  std::vector<std::string> done;
  for (Cut& one : cuts) done.push_back(put_in_place(folder, one));
  Shards facts(folder_);
  facts.new_facts();
  for (const Fault& fault : facts.faults())
    done.push_back(fmt::format("{} is now {}; the next run writes it again", fault.file.string(),
                               folder.set_aside(fault.file.filename().string())));
  return done;
}

void Shards::merge(double now, const std::set<std::string>& writers) {
  const RequiredFolder folder(folder_);
  std::vector<std::pair<std::string, FileLook>> ended, held;
  for (const std::string& name : folder.names()) {
    const std::optional<FileLook> look = is_shard(name) ? folder.look_at(name) : std::nullopt;
    bool may_grow = !look || look->other || look->bytes > largest_merged || now - look->changed_at() < lease_seconds;
    for (const std::string& writer : writers_of(name))
      may_grow = may_grow || writers.contains(writer) || is_running_here(writer);
    if (!may_grow) ended.emplace_back(name, *look);
  }
  if (ended.size() < fewest_merged) return;
  std::string text;
  const auto move_held = [&] {
    if (!text.empty()) write_own(text);
    for (const auto& [name, look] : held)
      if (folder.look_at(name) == look) folder.remove(name);
    held.clear();
    text.clear();
  };
  for (const auto& [name, look] : ended) {
    const OpenFile file(folder, name, O_RDONLY);
    if (!file.is_open() || file.look() != look) continue;
    const size_t before = text.size();
    size_t bytes = 0;
    const bool is_sound = each_sound(file, {}, [&](std::string_view line) {
      text.append(line) += '\n';
      bytes += line.size() + 1;
    });
    if (is_sound && bytes == look.bytes) held.emplace_back(name, look);
    else text.resize(before);  // it stays as it is, for doctor
    if (text.size() > most_held) move_held();
  }
  move_held();
}

}  // namespace headroom::experiments
