#include <algorithm>

#include "experiments/tools/judge/readers/json_leaves.h"
#include "experiments/tools/judge/readers/logs.h"
#include "experiments/tools/judge/readers/run_files.h"
#include "experiments/tools/judge/readers/yaml.h"

namespace headroom::experiments {

namespace fs = std::filesystem;

std::map<std::string, std::string> settings_in(const fs::path& path) {
  std::map<std::string, std::string> settings;
  for (const fs::path& part : path.parent_path()) {
    const std::string text = part.string();
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(',', at), text.size()), equals = text.find('=', at);
      if (equals > at && equals < end)
        settings[text.substr(at, equals - at)] = text.substr(equals + 1, end - equals - 1);
      at = end + 1;
    }
  }
  return settings;
}

std::map<std::string, std::string> hydra_settings(const fs::path& path, std::vector<std::string>& problems) {
  constexpr int most_levels = 5;  // a logger's folders lie between a run's folder and its files
  std::error_code none;
  fs::path folder = path;
  for (int level = 0; !fs::is_regular_file(folder / ".hydra/config.yaml", none); ++level) {
    if (level == most_levels || !folder.has_relative_path()) return {};
    folder = folder.parent_path();
  }
  std::map<std::string, std::string> settings;
  attempt(problems, [&] {
    each_leaf(read_yaml(folder / ".hydra/config.yaml"), "",
              [&](const std::string& key, std::string text) { settings[key] = std::move(text); });
  });
  attempt(problems, [&] {
    const ForeignJson overrides = read_yaml(folder / ".hydra/overrides.yaml");
    if (!overrides.is_array()) return;
    for (const ForeignJson& override : overrides) {
      if (!override.is_string()) continue;
      const auto text = override.get<std::string>();
      const size_t begin = text.find_first_not_of('+'), equals = text.find('=');
      if (text.starts_with("~") || equals == std::string::npos || begin >= equals) continue;
      settings.emplace(text.substr(begin, equals - begin), text.substr(equals + 1));
    }
  });
  return settings;
}

}  // namespace headroom::experiments
