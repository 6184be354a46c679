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
