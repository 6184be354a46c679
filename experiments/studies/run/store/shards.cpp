#include "experiments/studies/run/store/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/cpu/kernel_level.h"
#include "experiments/studies/run/store/digest.h"
#include "experiments/version.h"
#include "models/files/atomic_file.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

constexpr size_t sum_digits = 64;
constexpr std::string_view sum_begins = R"(,"sha256":")", sum_ends = R"("})";

std::string sum_of(std::string_view text) {
  tasks::Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.hex();
}

/// A line of JSON, "{…}\n", with `more` and its own checksum as its last members.
std::string sealed(std::string line, const std::string& more) {
  line.resize(line.size() - 2);
  line += more;
  return fmt::format("{}{}{}{}\n", line, sum_begins, sum_of(line), sum_ends);
}

/// Whether a line, without its line feed, is as sealed() left it.
bool is_sealed(std::string_view line) {
  const size_t tail = sum_begins.size() + sum_digits + sum_ends.size();
  if (line.size() < tail || !line.ends_with(sum_ends)) return false;
  const std::string_view body = line.substr(0, line.size() - tail);
  return line.substr(body.size()).starts_with(sum_begins) &&
         line.substr(body.size() + sum_begins.size(), sum_digits) == sum_of(body);
}

/// A host's name as part of a file's.
std::string host_name() {
  const std::string machine = this_process().machine;
  std::string host = machine.substr(0, machine.find(' '));
  std::replace_if(
      host.begin(), host.end(), [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-'; }, '_');
  return host;
}

void sync_folder(const fs::path& folder) {
  const OpenFile opened(folder, O_RDONLY | O_DIRECTORY);
  if (opened.is_open()) fsync(opened.fd());  // some file systems cannot sync folders: no error
}

/// The names of the shards, in order.
std::set<std::string> shards_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".jsonl") names.insert(entry->path().filename().string());
  require(!error, "{}: cannot be read: {}", folder.string(), error.message());
  return names;
}

ShardLine parsed(const std::string& line, const fs::path& file, int64_t number) {
  try {
    std::map<int64_t, PlanEntry> none;
    ShardLine out{trial_from_line(line, true, none), "", ""};
    const nlohmann::json object = nlohmann::json::parse(line);
    out.trial.weights = object.at("weights");
    out.level = object.at("level");
    out.where = fmt::format("{}:{}", file.string(), number);
    return out;
  } catch (const Error& error) {
    fail("{}:{}: {}", file.string(), number, error.what());
  } catch (const nlohmann::json::exception& error) {
    fail("{}:{}: {}", file.string(), number, error.what());
  }
}

std::string facts_line(const RunFacts& facts) {
  PublishedRun run{facts, "", "", version()};
  return sealed(line_of_run(run, {}), "");
}

}  // namespace

void Shards::append(const std::vector<TrialRecord>& trials) {
  if (trials.empty()) return;
  for (int n = 1; !own_; ++n) {
    const std::string name = fmt::format("{}-{}{}.jsonl", host_name(), getpid(), n == 1 ? "" : fmt::format("-{}", n));
    auto file = std::make_unique<OpenFile>(folder_ / name, O_RDWR | O_CREAT | O_EXCL);
    if (!file->is_open() && !file->is_taken()) file->complain("cannot be made");
    if (file->is_open()) own_ = std::move(file);
  }
  std::string text;
  for (const TrialRecord& trial : trials)
    text += sealed(line_of_trial(trial, {}, {}),
                   fmt::format(R"(,"weights":"{}","level":"{}")", trial.weights, engine::kernel_level()));
  const off_t before = own_->status().st_size;
  if (!own_->write(static_cast<size_t>(before), text) || fsync(own_->fd()) != 0) {
    const int reason = errno;
    // This file never grows again: what was begun is no beginning of another line, and who has read lines that were
    // whole but not synced finds no others in their place.
    const auto file = std::move(own_);
    if (ftruncate(file->fd(), before) == 0 && before == 0) unlink(file->path().c_str());
    fail("{}: run store: cannot be written: {}", folder_.string(), std::strerror(reason));
  }
  if (before == 0) sync_folder(folder_);
}

void Shards::each_new(const std::function<double()>& now, const std::function<void(ShardLine&&)>& f) {
  std::map<std::string, Place> reached = read_;
  for (const std::string& name : shards_in(folder_)) {
    const OpenFile file(folder_ / name, O_RDONLY);
    if (file.is_missing()) continue;
    if (!file.is_open()) file.complain("cannot be read");
    Place& place = reached[name];
    std::string text;  // from place.bytes on
    constexpr size_t piece = size_t{1} << 22;
    bool is_readable = true;
    while (is_readable) {
      const std::string more = file.read(place.bytes + text.size(), piece);
      text += more;
      size_t begin = 0;
      for (size_t end; is_readable && (end = text.find('\n', begin)) != std::string::npos;) {
        const std::string line = text.substr(begin, end - begin);
        is_readable = is_sealed(line);
        if (!is_readable) {
          require(now() - file.changed_at() < lease_seconds,
                  "{}:{}: is not what was written (wrong checksum); delete the line, and the next run trains its trial "
                  "again",
                  file.path().string(), place.lines + 1);
          break;
        }
        f(parsed(line, file.path(), place.lines + 1));
        begin = end + 1;
        ++place.lines;
      }
      place.bytes += begin;
      text.erase(0, begin);
      if (more.size() < piece) break;
    }
  }
  read_ = std::move(reached);
}

std::map<fs::path, std::string> Shards::damaged() const {
  std::map<fs::path, std::string> files;
  std::set<std::string> names = shards_in(folder_);
  names.insert({"plan.json", "notes.json"});
  for (const std::string& name : names) {
    const OpenFile file(folder_ / name, O_RDONLY);
    if (file.is_missing()) continue;
    if (!file.is_open()) file.complain("cannot be read");
    const std::string text = file.read(0, static_cast<size_t>(file.status().st_size));
    std::string sound;
    bool is_sound = true;
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string_view line = std::string_view(text).substr(begin, end - begin);
      if (is_sealed(line)) sound.append(line) += '\n';
      else is_sound = false;
    }
    const bool is_cut = begin < text.size() && !name.ends_with(".jsonl");
    if (!is_sound || is_cut) files[file.path()] = std::move(sound);
  }
  return files;
}

void Shards::keep_plan(const RunFacts& facts) const {
  const std::string line = facts_line({facts.facts, facts.plan, {}, {}});
  const OpenFile there(folder_ / "plan.json", O_RDONLY);
  if (there.is_open() && there.read(0, line.size() + 1) == line) return;
  models::write_file(folder_ / "plan.json", line);
}

void Shards::keep_notes(const RunFacts& facts) const {
  models::write_file(folder_ / "notes.json", facts_line({{}, {}, facts.tags, facts.notes}));
}

bool Shards::read_facts(const char* name, FactsFile& known) const {
  const OpenFile file(folder_ / name, O_RDONLY);
  if (file.is_missing()) return false;
  if (!file.is_open()) file.complain("cannot be read");
  const struct stat status = file.status();
  std::string stamp =
      fmt::format("{} {} {} {}", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  if (stamp == known.stamp) return false;
  std::string line = file.read(0, static_cast<size_t>(status.st_size));
  if (line.ends_with('\n')) line.pop_back();
  require(is_sealed(line),
          "{}: is not what was written (wrong checksum); move it aside, and the next run writes it anew",
          file.path().string());
  std::map<int64_t, PlanEntry> plan;
  known.facts = run_from_line(line, plan);
  for (auto& [position, entry] : plan) known.facts.plan.push_back(std::move(entry));
  known.stamp = std::move(stamp);
  return true;
}

std::optional<RunFacts> Shards::new_facts() {
  const bool has_plan = read_facts("plan.json", plan_), has_notes = read_facts("notes.json", notes_);
  if (!has_plan && !has_notes) return std::nullopt;
  return RunFacts{plan_.facts.facts, plan_.facts.plan, notes_.facts.tags, notes_.facts.notes};
}

}  // namespace headroom::experiments
