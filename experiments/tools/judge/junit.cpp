#include "experiments/tools/judge/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/output/text.h"
#include "experiments/studies/words/verdict_words.h"

namespace headroom::experiments {

std::string junit_xml(const std::string& suite, const std::vector<Verdict>& verdicts,
                      const std::vector<std::string>& notes) {
  const auto failed =
      std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.status == VerdictStatus::fail; });
  const auto skipped = std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return !is_decided(v); });
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\">\n",
      escape(one_line(suite)), verdicts.size(), failed, skipped);
  for (const Verdict& v : verdicts) {
    const std::string says = escape(one_line(sentence(v)));
    xml += fmt::format("  <testcase classname=\"{}\" name=\"{}\">", escape(one_line(suite)),
                       escape(one_line(claim_name(v.claim))));
    if (v.status == VerdictStatus::fail) xml += fmt::format("<failure message=\"{}\"/>", says);
    else if (!is_decided(v)) xml += fmt::format("<skipped message=\"{}\"/>", says);
    else xml += fmt::format("<system-out>{}</system-out>", says);
    xml += "</testcase>\n";
  }
  std::string said;
  for (const std::string& note : notes) said += one_line(note) + "\n";
  return xml + (said.empty() ? "" : fmt::format("  <system-out>{}</system-out>\n", escape(said))) + "</testsuite>\n";
}

}  // namespace headroom::experiments
