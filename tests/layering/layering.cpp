// Who may include whom: docs/architecture.md, kept by reading every #include of the source tree.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace {

namespace fs = std::filesystem;

struct Include {
  std::string file, header;  ///< "engine/tensor.cpp" includes "engine/error.h"
  bool quoted;
};

bool is_source(const fs::path& path) {
  const std::string extension = path.extension();
  return extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh";
}

/// Every line of the sources under `folder`, each with its file.
std::vector<std::pair<std::string, std::string>> lines_of(const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> lines;
  const fs::path root = headroom::testing::source_root();
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    if (!is_source(entry.path())) continue;
    std::ifstream text(entry.path());
    const std::string file = fs::relative(entry.path(), root).string();
    for (std::string line; std::getline(text, line);) lines.emplace_back(file, line);
  }
  return lines;
}

std::vector<Include> includes_under(const std::string& folder) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> out;
  for (const auto& [file, line] : lines_of(folder))
    if (std::smatch match; line.find("include") != std::string::npos && std::regex_search(line, match, pattern))
      out.push_back({file, match[2], match[1] == "\""});
  return out;
}

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

/// The files that have the pattern in a line without a comment.
std::set<std::string> files_with(const std::vector<std::string>& folders, const std::regex& pattern) {
  std::set<std::string> found;
  for (const std::string& folder : folders)
    for (const auto& [file, line] : lines_of(folder))
      if (line.find("//") == std::string::npos && std::regex_search(line, pattern)) found.insert(file);
  return found;
}

/// The includes under `folder` that `wrong` says must not be, one a line.
std::string offences(const std::string& folder, const std::function<bool(const Include&)>& wrong) {
  std::string text;
  for (const Include& include : includes_under(folder))
    if (wrong(include)) text += fmt::format("{} includes {}\n", include.file, include.header);
  return text;
}

const std::vector<std::string> layers{"engine", "autograd", "models", "tasks", "experiments"};

}  // namespace

TEST_CASE("dependencies run one way: engine, autograd, models, tasks, experiments") {
  REQUIRE(includes_under("engine").size() > 50);
  for (size_t i = 0; i < layers.size(); ++i)
    CHECK(offences(layers[i], [&](const Include& include) {
            for (size_t j = i + 1; j < layers.size(); ++j)
              if (starts_with(include.header, layers[j] + "/")) return true;
            return starts_with(include.header, "tests/");
          }) == "");
}

TEST_CASE("the rooms of experiments include only those before them, and so do the folders of each") {
  // How anything is written down; what a study is, trains, claims and shows; what needs little of studies; the program.
  const std::vector<std::string> order{"version.h",         "output",          "studies/toml",
                                       "studies/results.h", "studies/claims",  "studies/config",
                                       "studies/analysis",  "studies/words",   "studies/run",
                                       "studies/pages",     "studies/compare", "studies/export",
                                       "tools/compress",    "tools/plan",      "tools/probe",
                                       "tools/bench",       "tools/new_op",    "tools/judge",
                                       "program/serve",     "program/answer",  "program/command_line",
                                       "program",           "main.cpp"};
  const auto place = [&](const std::string& path) {
    const std::string below = path.substr(std::string("experiments/").size());
    return std::find_if(order.begin(), order.end(),
                        [&](const std::string& part) { return below == part || starts_with(below, part + "/"); }) -
           order.begin();
  };
  for (const Include& include : includes_under("experiments")) {
    INFO(include.file);
    REQUIRE(place(include.file) < std::ssize(order));
  }
  CHECK(offences("experiments", [&](const Include& include) {
          return starts_with(include.header, "experiments/") && place(include.header) > place(include.file);
        }) == "");
}

TEST_CASE("no folder of a layer includes, over others, itself") {
  // What the layer's own files include of each other is not asked: tensor, storage and transfer are one thing.
  for (const std::string layer : {"engine", "autograd", "models", "tasks"}) {
    const auto node = [&](const std::string& path) {
      const std::string below = path.substr(layer.size() + 1);
      return below.find('/') == std::string::npos ? fs::path(below).stem().string()
                                                  : below.substr(0, below.find('/') + 1);
    };
    std::map<std::string, std::set<std::string>> reached;
    for (const Include& include : includes_under(layer))
      if (starts_with(include.header, layer + "/") && node(include.header) != node(include.file))
        reached[node(include.file)].insert(node(include.header));
    for (bool grows = true; grows;) {
      grows = false;
      for (auto& [from, to] : reached)
        for (const std::string& over : std::set<std::string>(to))
          if (const auto next = reached.find(over); next != reached.end())
            for (const std::string& end : next->second) grows |= to.insert(end).second;
    }
    REQUIRE(reached.size() > 3);
    for (const auto& [from, to] : reached)
      if (from.back() == '/') {
        INFO(layer << ": " << from);
        CHECK(to.count(from) == 0);
      }
  }
}

TEST_CASE("includes are written from the root") {
  for (const std::string& layer : layers)
    CHECK(offences(layer, [&](const Include& include) {
            return include.quoted && !fs::exists(fs::path(headroom::testing::source_root()) / include.header) &&
                   include.header.find('/') != std::string::npos && !starts_with(include.header, "oneapi/") &&
                   include.header != "autograd/ops.h";  // generated from engine/ops.txt
          }) == "");
}

TEST_CASE("vendor headers are seen only in engine/cpu, engine/cuda and CUDA sources") {
  const auto vendor = [](const std::string& header) {
    for (const char* start : {"oneapi/dnnl", "dnnl", "cuda", "cublas", "cudnn", "omp.h"})
      if (starts_with(header, start) && !(std::string(start) == "omp.h" && header != "omp.h")) return true;
    return false;
  };
  for (const std::string& layer : layers)
    CHECK(offences(layer, [&](const Include& include) {
            const bool home = starts_with(include.file, "engine/cpu/") || starts_with(include.file, "engine/cuda/") ||
                              fs::path(include.file).extension() == ".cu" ||
                              fs::path(include.file).extension() == ".cuh" ||
                              (include.file == "engine/parallel.cpp" && include.header == "omp.h");
            return !home && vendor(include.header);
          }) == "");
}

TEST_CASE("a kernel that is compiled once per instruction set includes little") {
  // An inline function of a wider header, compiled for AVX-512, could be the copy that the linker keeps.
  const auto allowed = [](const Include& include) {
    if (!include.quoted) {
      static const std::vector<std::string> plain{"cstdint", "cstring",     "cstddef",
                                                  "cmath",   "type_traits", "immintrin.h"};
      return std::find(plain.begin(), plain.end(), include.header) != plain.end();
    }
    const std::string& h = include.header;
    static const std::regex kernel_header(R"(.*_kernel\.h|engine/cpu/.*|engine/elementwise/kernels\.h|engine/math\.h)");
    static const std::regex functors(
        R"(engine/ops/elementwise/(activations|arithmetic|comparisons|math_functions)\.h|engine/ops/rows/wide_moments\.h|engine/ops/(\w+)/\2(_\w+)?\.h)");
    return std::regex_match(h, kernel_header) || std::regex_match(h, functors) || h == "engine/kernel.h";
  };
  CHECK(offences("engine", [&](const Include& include) {
          return include.file.size() > 11 && include.file.compare(include.file.size() - 11, 11, "_kernel.cpp") == 0 &&
                 !allowed(include);
        }) == "");
}

TEST_CASE("a header that takes the compiler seconds is included in one file") {
  const std::vector<std::pair<std::string, std::string>> homes{
      {"CLI/CLI.hpp", "experiments/program/command_line/arguments.cpp"},
      {"toml++/toml.h", "experiments/studies/toml/document.cpp"}};
  for (const std::string& layer : layers)
    CHECK(offences(layer, [&](const Include& include) {
            for (const auto& [header, home] : homes)
              if (include.header == header && include.file != home) return true;
            return false;
          }) == "");
}

TEST_CASE("no family of models is told by its name outside the table of families") {
  static const std::regex name(R"re(\.name = "(\w+)")re");
  const std::set<std::string> home{"models/families/family.cpp"};
  std::string names;
  for (const auto& [file, line] : lines_of("models/families"))
    if (std::smatch match; home.count(file) && std::regex_search(line, match, name)) names += "|" + match[1].str();
  REQUIRE(names.find("|llama") == 0);
  names = "\"(" + names.substr(1) + ")\"";
  CHECK(files_with({"models", "tasks", "experiments"}, std::regex("[=!]=\\s*" + names + "|" + names + "\\s*[=!]=")) ==
        std::set<std::string>{});
}

TEST_CASE("what a scheme of positions does is asked of its row, not of its name") {
  static const std::regex compared(R"re([=!]= (models::)?Positions::|positions [=!]= ")re");
  CHECK(files_with({"models", "tasks", "experiments"}, compared) == std::set<std::string>{});
}

TEST_CASE("only the printers of documents write markup") {
  static const std::regex tag(
      R"re("[^"]*</?(p|div|table|tr|td|th|ul|li|section|h[1-6]|dl|dt|dd|details|figure|span|a|b)[ >])re");
  CHECK(files_with(layers, tag) ==
        std::set<std::string>{"experiments/output/html.cpp", "experiments/output/markdown.cpp"});
}
