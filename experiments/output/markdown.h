#pragma once
#include <string>

#include "experiments/output/document.h"

namespace headroom::experiments {

/// A page as Markdown: words, lists, tables, figures' files, and sections with their headings. A table without rows
/// and a figure without a file are left out, as is what only a browser shows.
std::string as_markdown(const Blocks& page);

}  // namespace headroom::experiments
