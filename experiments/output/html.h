#pragma once
#include <string>

#include "experiments/output/document.h"

/// The only writer of HTML.
namespace headroom::experiments {

/// The page as one document that fetches nothing and reads without its scripts: its style sheet is inside, tables sort,
/// figures answer a pointer. On a phone, rows of a table of nothing but words stand as blocks, with each cell's head
/// before it. A table without rows is left out, and links to Markdown files lead
/// nowhere, since those are no pages.
std::string as_html(const Document& document);

}  // namespace headroom::experiments
