#pragma once
#include <string>

#include "experiments/output/document.h"

/// The only writer of HTML.
namespace headroom::experiments {

/// The page as one HTML document that fetches nothing and reads without its scripts: its style sheet is inside, tables
/// sort, figures answer a pointer. On a phone, rows of text-only tables become blocks with each cell's head before it.
/// Tables without rows are left out; links to Markdown files become plain words.
std::string as_html(const Document& document);

}  // namespace headroom::experiments
