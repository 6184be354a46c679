#include "experiments/studies/config/series.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/excerpt.h"

namespace headroom::experiments {
namespace {

constexpr size_t longest_name = 200;

std::string take_keys(Reader& in) {
  const std::string name = in.text("name", std::nullopt, "name of the curve; claims call it by this");
  in.raw("task", "keys of [task] that differ");
  in.raw("model", "keys of [model] that differ");
  in.raw("train", "keys of [train] that differ");
  in.raw("sweep", "keys of [sweep] that differ");
  if (const Value* report = in.raw("report", "report.overlay, when it differs"))
    for (const Entry& entry : report->table)
      if (entry.key != "overlay")
        in.problems().add(entry.place, in.path("report") + "." + entry.key, "a series overrides only report.overlay");
  return name;
}

}  // namespace

void describe_series(Reader& in) { take_keys(in); }

std::string read_series(const Value& series, const std::vector<std::string>& taken, Complaints& problems) {
  if (series.kind != Value::Kind::table) {
    problems.add(series.place, "series", "expected tables [[series]]");
    return "";
  }
  Reader in(series, "series", problems);
  const std::string name = take_keys(in);
  in.finish();
  if (name.size() > longest_name) in.complain("name", fmt::format("expected at most {} bytes", longest_name));
  if (std::find(taken.begin(), taken.end(), name) != taken.end())
    in.complain("name", fmt::format("\"{}\" is taken", excerpt(name)));
  return name;
}

}  // namespace headroom::experiments
