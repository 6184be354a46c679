#pragma once
#include <filesystem>

#include "tasks/measure/choice_items.h"

namespace headroom::tasks {

/// The multiple-choice examples of a BIG-bench task (its `task.json`; Srivastava et al., 2022, arXiv 2206.04615), with
/// no example shown before them: prompts letter for letter those of BIG-bench's own code (version 1.0.0), choices in
/// the order of their bytes, the right one that with the best score. Left out are examples with several best choices,
/// and ones that are there twice. Throws Error naming file and example for a task of another kind.
ChoiceFile read_big_bench(const std::filesystem::path& path);

}  // namespace headroom::tasks
