#include "experiments/studies/run/store/shard_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/cpu/kernel_level.h"
#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/run/store/digest.h"
#include "experiments/studies/run/store/trial_lines.h"
#include "experiments/version.h"

namespace headroom::experiments {
namespace {

constexpr size_t sum_digits = 64;
constexpr std::string_view sum_begins = R"(,"sha256":")", sum_ends = R"("})";

std::string sum_of_line(std::string_view text) {
  tasks::Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.hex();
}

void check_seal(std::string_view seal) { require(!seal.empty(), "is not what was written (wrong checksum)"); }

}  // namespace

std::string sealed_line(std::string line, const std::string& more) {
  line.resize(line.size() - 2);
  line += more;
  return fmt::format("{}{}{}{}\n", line, sum_begins, sum_of_line(line), sum_ends);
}

std::string_view seal_of(std::string_view line) {
  const size_t tail = sum_begins.size() + sum_digits + sum_ends.size();
  if (line.size() < tail || !line.ends_with(sum_ends)) return {};
  const std::string_view body = line.substr(0, line.size() - tail);
  if (!line.substr(body.size()).starts_with(sum_begins)) return {};
  const std::string_view sum = line.substr(body.size() + sum_begins.size(), sum_digits);
  return sum == sum_of_line(body) ? sum : std::string_view();
}

std::string shard_line_of(const TrialRecord& trial) {
  std::string line = sealed_line(line_of_trial(trial, {}, {}),
                                 fmt::format(R"(,"weights":"{}","level":"{}")", trial.weights, engine::kernel_level()));
  require(line.size() <= longest_shard_line,
          "trial {}: has {} bytes with its learning curve, and a line of a shared folder at most {}; a larger "
          "train.eval_every gives it fewer",
          trial.id, line.size(), longest_shard_line);
  return line;
}

ShardLine parse_shard_line(std::string_view line, std::string_view seal) {
  check_seal(seal);
  ShardLine out;
  out.trial = shard_trial_from_line(std::string(line), out.level);
  if (!is_id_of_config(out.trial.id, out.trial.config))
    fail("trial '{}' is not that of its config, whose id is {}", excerpt(out.trial.id), trial_id_of(out.trial.config));
  return out;
}

std::string facts_line_of(const RunFacts& facts) {
  const PublishedRun run{facts, "", "", version()};
  return sealed_line(line_of_run(run, {}), "");
}

RunFacts parse_facts_line(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  check_seal(seal_of(line));
  std::map<int64_t, PlanEntry> plan;
  RunFacts facts = run_from_line(std::string(line), plan);
  for (auto& [position, entry] : plan) facts.plan.push_back(std::move(entry));
  return facts;
}

std::optional<std::string_view> LineScanner::next() {
  size_t looked = 0;
  while (true) {
    const size_t held = end_ - begin_;
    const char* const begin = buffer_.get() + begin_;
    const void* const feed = looked < held ? std::memchr(begin + looked, '\n', held - looked) : nullptr;
    const size_t size = feed ? static_cast<size_t>(static_cast<const char*>(feed) - begin) : held;
    if (size >= longest_shard_line) return std::nullopt;
    if (feed) {
      begin_ += size + 1;
      place_ += size + 1;
      return std::string_view(begin, size);
    }
    looked = held;
    if (!read_more()) return std::nullopt;
  }
}

/// False at the end.
bool LineScanner::read_more() {
  constexpr size_t least = size_t{1} << 16;
  const size_t held = end_ - begin_, count = std::min(to_ - at_, std::max(held, least));
  if (end_ + count > capacity_) {
    std::unique_ptr<char[]> other;
    if (held + count > capacity_) other.reset(new char[capacity_ = held + count]);  // not filled, as a vector is
    if (held > 0) std::memmove(other ? other.get() : buffer_.get(), buffer_.get() + begin_, held);
    if (other) buffer_ = std::move(other);
    begin_ = 0;
    end_ = held;
  }
  const size_t got = file_.read(at_, buffer_.get() + end_, count);
  at_ += got;
  end_ += got;
  if (got < count) to_ = at_;  // it has become shorter
  return got > 0;
}

}  // namespace headroom::experiments
