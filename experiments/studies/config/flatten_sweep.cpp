#include "experiments/studies/config/sweep.h"

namespace headroom::experiments {
namespace {

bool is_axis(const std::string& path, const Value& value) {
  return path == "seed" || value.kind != Value::Kind::table || value.is_inline || value.find("best_of") ||
         value.find("values");
}

void flatten(const Value& table, const std::string& prefix, std::vector<Entry>& keys) {
  for (const Entry& entry : table.table) {
    if (is_axis(prefix + entry.key, entry.value)) keys.push_back({prefix + entry.key, entry.place, entry.value});
    else flatten(entry.value, prefix + entry.key + ".", keys);
  }
}

}  // namespace

void flatten_sweeps(Value& document) {
  for (Entry& entry : document.table) {
    if (entry.key == "sweep") {
      std::vector<Entry> keys;
      flatten(entry.value, "", keys);
      entry.value.table = std::move(keys);
    } else if (entry.key == "series") {
      for (Value& series : entry.value.list) flatten_sweeps(series);
    } else if (entry.key == "profile") {
      for (Entry& profile : entry.value.table) flatten_sweeps(profile.value);
    }
  }
}

}  // namespace headroom::experiments
