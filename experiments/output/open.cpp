#include "experiments/output/open.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "engine/error.h"
#include "experiments/output/program.h"

namespace headroom::experiments {
namespace {

/// A name on PATH, or a path.
std::optional<std::filesystem::path> program_of(const std::string& text) {
  if (text.find('/') == std::string::npos) return find_program(text);
  return access(text.c_str(), X_OK) == 0 ? std::make_optional<std::filesystem::path>(text) : std::nullopt;
}

}  // namespace

void open_page(const std::filesystem::path& page) {
  const std::string target = std::filesystem::absolute(page).string();
  // BROWSER is a list and the user's choice, so nothing else is tried after it.
  if (const char* const browser = std::getenv("BROWSER"); browser && *browser) {
    std::istringstream list(browser);
    for (std::string entry; std::getline(list, entry, ':');)
      if (const auto program = program_of(entry)) return start_program(*program, {target});
    fail("BROWSER={}: there is no such program; the report is {}", browser, target);
  }
  for (const char* name : {"xdg-open", "open"})
    if (const auto program = find_program(name)) return start_program(*program, {target});
  fail("no browser: BROWSER is not set and xdg-open is not installed; the report is {}", target);
}

}  // namespace headroom::experiments
