#pragma once
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::testing {

/// A study that trains in milliseconds; its line numbers are part of the tests of places.
inline std::string small_study() {
  return R"([study]
id    = "small"
title = "Small"
paper = "Figure 1"
[task]
kind      = "linear-functional"
kernel    = { kind = "n-gram", n = 2 }
token_dim = 2
length    = 6
first_position = 1

[model]
kind      = "encoder"
layers    = 1
width     = 8
head_dim  = "width / heads"
positions = "sinusoidal"
causal    = true
heads     = 1
ffn_width = 0

[train]
steps     = 6
batch     = 4
optimizer = { kind = "adamw", lr = 1e-3, beta2 = 0.99 }
[sweep]
"model.heads"        = [1, 2]
"train.optimizer.lr" = { best_of = [1e-3, 1e-2] }
seed                 = [1, 2]

[report]
x = { key = "model.heads", scale = "log2" }
y = { metric = "relative_mse", scale = "log10" }

[[claim]]
kind = "optimum_at"
among = [2]

)";
}

/// `text` with the first `old` replaced. Throws when there is none, so that a test cannot lose its mistake.
inline std::string replaced(std::string text, const std::string& old, const std::string& with) {
  const size_t at = text.find(old);
  if (at == std::string::npos) throw std::logic_error("no \"" + old + "\" in the text");
  return text.replace(at, old.size(), with);
}

/// Few trials at first: the best rate is at an end of the grid, and claims want more seeds.
inline std::string study_in_rounds() {
  std::string text = replaced(small_study(), "best_of = [1e-3, 1e-2]",
                              "best_of = { from = 1e-5, to = 3.16e-5, extend = true, limits = [1e-5, 1e-2] }");
  text = replaced(text, "seed                 = [1, 2]", "seed = { from = 1, until = \"decided\", at_most = 9 }");
  text = replaced(text, "kind = \"optimum_at\"\namong = [2]", "kind = \"less_than\"\nat = 2\nthan = { at = 1 }");
  return replaced(text, "steps     = 6", "steps = 150\nsave_every = 0.01");
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A study file in a folder of its own.
class StudyFile {
 public:
  explicit StudyFile(const std::string& text) { std::ofstream(path()) << text; }
  std::string path() const { return (folder_.path() / "study.toml").string(); }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace headroom::testing
