#include "experiments/studies/run/store/shards.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/error.h"
#include "models/files/atomic_file.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

constexpr int most_looks = 20;  ///< at a folder whose files others move meanwhile
constexpr size_t most_faults = 1000, most_facts = size_t{1} << 28;

/// Whether a file still has its name.
bool is_in_place(const OpenFolder& folder, const OpenFile& file) {
  const std::optional<FileLook> there = folder.look_at(file.path().filename().string());
  return there && there->inode == file.look().inode;
}

RunFacts read_facts_file(const OpenFile& file) {
  require(!file.other(), "is {}, not a file", file.other() ? file.other() : "");
  const size_t bytes = file.look().bytes;
  require(bytes <= most_facts, "has {} bytes: expected at most {}", bytes, most_facts);
  return parse_facts_line(file.read(0, bytes));
}

}  // namespace

std::string writer_name(const Owner& owner) {
  std::string host = owner.machine.substr(0, owner.machine.find(' '));
  std::replace_if(
      host.begin(), host.end(), [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-'; }, '_');
  return fmt::format("{}-{}", host, owner.pid);
}

bool is_shard(std::string_view name) { return name.ends_with(".jsonl") && !name.starts_with("."); }

void Shards::append(const std::vector<TrialRecord>& trials) {
  std::string text;
  for (const TrialRecord& trial : trials) text += shard_line_of(trial);
  if (!text.empty()) write_own(text);
}

void Shards::make_own(const OpenFolder& folder) {
  const std::string writer = writer_name(this_process());
  for (int n = 1; !own_; ++n) {
    const std::string name = fmt::format("{}{}.jsonl", writer, n == 1 ? "" : fmt::format("-{}", n));
    auto file = std::make_unique<OpenFile>(folder, name, O_RDWR | O_CREAT | O_EXCL);
    if (!file->is_open() && !file->is_taken()) file->complain("cannot be made");
    if (file->is_open()) own_ = std::move(file);
  }
}

void Shards::write_own(const std::string& text) {
  const RequiredFolder folder(folder_);
  for (int looks = 0; looks < most_looks; ++looks) {
    if (!own_ || !is_in_place(folder, *own_)) {
      own_.reset();
      make_own(folder);
    }
    const size_t before = own_->look().bytes;
    if (!own_->write(before, text) || fsync(own_->fd()) != 0) {
      const int reason = errno;
      // This file never grows again: what was begun is no beginning of another line, and who has read lines that were
      // whole but not synced finds no others in their place.
      const auto file = std::move(own_);
      if (ftruncate(file->fd(), static_cast<off_t>(before)) == 0 && before == 0)
        folder.remove(file->path().filename().string());
      fail("{}: run store: cannot be written: {}", folder_.string(), std::strerror(reason));
    }
    if (before == 0) folder.sync();
    if (is_in_place(folder, *own_)) return;  // else somebody moved it aside meanwhile, and may not have read this
  }
  fail("{}: run store: cannot be written: another process keeps moving {} aside", folder_.string(),
       own_->path().filename().string());
}

void Shards::each_new(const std::function<void(ShardLine&&)>& f) {
  const RequiredFolder folder(folder_);
  bool has_gone = true;
  // A shard that goes between two looks was merged into one that was there before: then the folder is read once more.
  for (int looks = 0; has_gone && looks < most_looks; ++looks) {
    has_gone = false;
    for (auto& [name, place] : read_) place.is_there = false;
    for (const std::string& name : folder.names()) {
      if (!is_shard(name)) continue;
      const std::optional<FileLook> look = folder.look_at(name);
      Place& place = read_[name];
      place.is_there = look && (place.look == *look || read_new(folder, name, place, f));
      has_gone = has_gone || !place.is_there;
    }
  }
  const size_t gone = std::erase_if(read_, [](const auto& one) { return !one.second.is_there; });
  has_lost_ = has_lost_ || gone > 0;
}

/// False where the file is gone.
bool Shards::read_new(const OpenFolder& folder, const std::string& name, Place& place,
                      const std::function<void(ShardLine&&)>& f) {
  const OpenFile file(folder, name, O_RDONLY);
  if (!file.is_there()) return false;
  const std::optional<FileLook> look = file.is_open() ? file.look() : folder.look_at(name);
  if (!look) return false;
  // Lines are only added; a file with other bytes is another one.
  if (look->inode != place.look.inode || look->bytes <= place.look.bytes) {
    has_lost_ = has_lost_ || place.lines > 0;
    place = {};
  }
  place.look = *look;
  place.is_there = true;
  place.faults.clear();
  const auto add_fault = [&](int64_t line, const std::string& what) {
    if (place.faults.size() < most_faults) place.faults.push_back({file.path(), line, what});
  };
  if (file.other()) {
    add_fault(0, fmt::format("is {}, not a file", file.other()));
    return true;
  }
  LineScanner lines(file, place.bytes, look->bytes);
  int64_t number = place.lines;
  while (const auto line = lines.next()) {
    ++number;
    const std::string_view seal = seal_of(*line);
    std::optional<ShardLine> parsed;
    if (seal.empty() || !seals_.contains(std::string(seal))) try {
        parsed = parse_shard_line(*line, seal);
      } catch (const Error& error) {
        add_fault(number, error.what());
      }
    if (parsed) {
      seals_.emplace(seal);
      parsed->shard = name;
      parsed->number = number;
      f(std::move(*parsed));
    }
    if (!place.faults.empty()) continue;
    place.bytes = lines.place();
    place.lines = number;
  }
  const std::string_view rest = lines.rest();
  if (lines.is_too_long()) add_fault(number + 1, fmt::format("has no line feed within {} bytes", longest_shard_line));
  else if (!rest.empty() && !seal_of(rest.substr(0, rest.size() - 1)).empty())
    add_fault(number + 1, "its line feed is not what was written");
  return true;
}

void Shards::forget() {
  read_.clear();
  seals_.clear();
  plan_ = notes_ = {};
  has_lost_ = false;
}

std::vector<Fault> Shards::faults() const {
  std::vector<Fault> all;
  for (const auto& [name, place] : read_) all.insert(all.end(), place.faults.begin(), place.faults.end());
  for (const FactsFile* file : {&plan_, &notes_})
    if (file->fault) all.push_back(*file->fault);
  return all;
}

void Shards::replace(const char* name, const RunFacts& facts) const {
  const RequiredFolder folder(folder_);
  const std::string line = facts_line_of(facts);
  try {
    const OpenFile there(folder, name, O_RDONLY);
    if (there.is_open() && there.read(0, line.size() + 1) == line) return;
    if (there.is_there()) read_facts_file(there);
  } catch (const Error&) {
    folder.set_aside(name);
  }
  models::write_file(folder_ / name, line);
}

bool Shards::read_facts(const OpenFolder& folder, const char* name, FactsFile& known) const {
  const std::optional<FileLook> look = folder.look_at(name);
  if (!look) known = {};
  if (!look || *look == known.look) return false;
  const OpenFile file(folder, name, O_RDONLY);
  if (!file.is_there()) return false;
  known.look = *look;
  known.fault.reset();
  try {
    known.facts = read_facts_file(file);
    return true;
  } catch (const Error& error) {
    known.fault = {file.path(), 0, error.what()};
    return false;
  }
}

std::optional<RunFacts> Shards::new_facts() {
  const RequiredFolder folder(folder_);
  const bool has_plan = read_facts(folder, "plan.json", plan_), has_notes = read_facts(folder, "notes.json", notes_);
  if (!has_plan && !has_notes) return std::nullopt;
  return RunFacts{plan_.facts.facts, plan_.facts.plan, notes_.facts.tags, notes_.facts.notes};
}

}  // namespace headroom::experiments
