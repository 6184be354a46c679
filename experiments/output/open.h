#pragma once
#include <filesystem>

namespace headroom::experiments {

/// Shows a page in the browser that BROWSER names, else with xdg-open (macOS: open), and does not wait for it. Throws
/// Error when there is none.
void open_page(const std::filesystem::path& page);

}  // namespace headroom::experiments
