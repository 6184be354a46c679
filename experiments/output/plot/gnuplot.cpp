#include "experiments/output/plot/gnuplot.h"

#include "engine/error.h"
#include "experiments/output/program.h"
#include "experiments/output/text.h"

namespace headroom::experiments {

std::optional<std::filesystem::path> find_gnuplot() { return find_program("gnuplot"); }

std::string run_gnuplot(const std::filesystem::path& program, const std::string& script, double seconds) {
  // -d: the figure does not depend on the user's ~/.gnuplot.
  const ProgramResult result = run_program(program, {"-d", "-"}, script, seconds);
  if (result.status != 0 || result.output.empty())
    fail("{} failed with status {}: {}", program.string(), result.status, joined_lines(result.errors));
  return result.output;
}

std::string gnuplot_string(const std::string& text) {
  std::string out = "'";
  for (const char c : one_line(text)) {
    // gnuplot's own escape, the quote doubled, fails on two quotes in a row: the typographic quote needs none.
    if (c == '\'') out += "\u2019";
    else out += c;
  }
  return out + "'";
}

}  // namespace headroom::experiments
