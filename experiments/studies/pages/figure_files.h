#pragma once
#include <filesystem>
#include <string>

#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

/// Writes the figures that a study's report begins with into `folder`, as STUDY-PROFILE.tex (pgfplots), .pdf and .png,
/// further ones with -2, -3, …; PDF and PNG by the first converter of SVG that is installed. Returns a line on it.
/// Throws Error naming the file that cannot be written, or as convert_svg() does.
std::string write_document_figures(const Analysis& study, const std::filesystem::path& folder);

}  // namespace headroom::experiments
