#pragma once
#include <filesystem>

namespace headroom::experiments {

/// Opens a page in BROWSER, else with xdg-open (macOS: open), without waiting. Throws Error if there is none.
void open_page(const std::filesystem::path& page);

}  // namespace headroom::experiments
