#include "tasks/compression/kept_losses.h"

#include <fmt/format.h>

#include <utility>

#include "engine/error.h"
#include "engine/read_number.h"
#include "models/files/atomic_file.h"
#include "models/files/regular_file.h"
#include "tasks/data/sha256.h"

namespace headroom::tasks {
namespace {

constexpr models::FileKind losses_file{"file of measured losses", uint64_t{1} << 30};
constexpr const char* first_words = "headroom losses ";

}  // namespace

KeptLosses::KeptLosses(std::filesystem::path file, const std::string& of) : file_(std::move(file)) {
  const std::string owner = first_words + sha256(of) + "\n";
  std::string text, whole = owner;
  std::error_code error;
  if (std::filesystem::exists(file_, error)) {
    text = models::read_file(file_, losses_file);
    require(text.starts_with(first_words), "{}: is no file of measured losses, which would be kept there; move it away",
            file_.string());
    for (size_t at = owner.size(), end = 0; text.starts_with(owner) && at < text.size(); at = end + 1) {
      end = text.find('\n', at);
      if (end == std::string::npos) break;  // cut short as it was written
      const size_t space = text.find(' ', at);
      if (space > end) break;
      const auto loss = read_number<double>(std::string_view(text).substr(space + 1, end - space - 1));
      if (!loss) break;
      known_[text.substr(at, space - at)] = *loss;
      whole += text.substr(at, end + 1 - at);
    }
  }
  found_ = known_.size();
  if (text != whole) models::write_file(file_, whole);
  out_.open(file_, std::ios::app);
}

double KeptLosses::get(const std::string& name, const std::function<double()>& measure) {
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  const double loss = measure();
  out_ << fmt::format("{} {}\n", name, loss) << std::flush;  // the shortest digits that read back as the same bits
  require(out_.good(), "{}: cannot be written", file_.string());
  return known_[name] = loss;
}

void KeptLosses::remove() {
  out_.close();
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

double kept_loss(KeptLosses* kept, const std::string& name, const std::function<double()>& measure) {
  return kept ? kept->get(name, measure) : measure();
}

}  // namespace headroom::tasks
