#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "experiments/tools/compress/job.h"
#include "tasks/data/sha256.h"

namespace headroom::experiments {
namespace {

constexpr size_t run_length = 64;  ///< tokens in a row that two texts do not share by chance

constexpr const char* wanted =
    "expected A:B, the first token and the one after the last, or the number of first tokens";

int64_t position(std::string_view digits, int64_t fallback, const std::string& option, const std::string& range) {
  if (digits.empty()) return fallback;
  const auto value = read_number<int64_t>(digits, 0);
  require(value.has_value(), "{} {}: {}", option, excerpt(range, 40), wanted);
  return *value;
}

std::string described(const TextRange& text) {
  return fmt::format("{} tokens {}:{} (SHA-256 {})", text.file, text.begin, text.end, text.sha256);
}

std::string_view run_at(const std::vector<int32_t>& tokens, size_t i) {
  return {reinterpret_cast<const char*>(tokens.data() + i), run_length * sizeof(int32_t)};
}

bool share_a_run(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  if (a.size() < run_length || b.size() < run_length) return false;
  std::unordered_set<std::string_view> runs;
  for (size_t i = 0; i + run_length <= a.size(); ++i) runs.insert(run_at(a, i));
  for (size_t i = 0; i + run_length <= b.size(); ++i)
    if (runs.contains(run_at(b, i))) return true;
  return false;
}

}  // namespace

TextRange text_range(const std::string& file, const std::vector<int32_t>& all, const std::string& range, int64_t usual,
                     const std::string& option) {
  const int64_t length = std::ssize(all);
  TextRange text{.file = file, .sha256 = tasks::sha256_of_file(file)};
  text.end = std::min(usual, length);
  if (!range.empty()) {
    const size_t colon = range.find(':');
    const bool is_count = colon == std::string::npos;
    text.begin = is_count ? 0 : position(std::string_view(range).substr(0, colon), 0, option, range);
    text.end = position(std::string_view(range).substr(is_count ? 0 : colon + 1), length, option, range);
    require(text.begin < text.end, "{} {}: the first token must be below the end", option, range);
    require(text.end <= length, "{} {}: {} has {} tokens", option, range, file, length);
  }
  text.tokens.assign(all.begin() + text.begin, all.begin() + text.end);
  return text;
}

void require_disjoint(const char* use, const TextRange& text, const TextRange& evaluation) {
  const bool is_one_text = text.sha256 == evaluation.sha256;
  const bool overlap = text.begin < evaluation.end && evaluation.begin < text.end;
  require(!is_one_text || !overlap, "{} and evaluation overlap: {} and {}; they must have no token in common", use,
          described(text), described(evaluation));
  require(!share_a_run(text.tokens, evaluation.tokens),
          "{} and evaluation share {} tokens in a row: {} and {}; they must have no text in common", use, run_length,
          described(text), described(evaluation));
}

}  // namespace headroom::experiments
