#include "experiments/tools/plan/decay.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <string_view>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "experiments/output/number.h"
#include "models/files/mapped_file.h"
#include "tasks/kernel.h"
#include "tasks/theory/decay_estimate.h"

namespace headroom::experiments {
namespace {

/// All of `text` as a number.
double number(std::string_view text, const std::string& what, const char* option = "--decay") {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto value = read_number<double>(text);
  require(value.has_value(), "{}: {} is \"{}\": expected a number", option, what, excerpt(text, 40));
  return *value;
}

/// The numbers between the commas of an option's text.
std::vector<double> numbers(const std::string& text, const char* option) {
  std::vector<double> found;
  for (const std::string& part : parts_of_list(text, ','))
    found.push_back(number(part, fmt::format("term {}", found.size() + 1), option));
  return found;
}

Decay kernel_decay(const std::string& text, size_t colon, int64_t terms) {
  tasks::KernelConfig kernel{.kind = text.substr(0, colon)};
  const auto& kinds = tasks::kernel_kinds();
  require(kernel.kind != "list" && std::find(kinds.begin(), kinds.end(), kernel.kind) != kinds.end(),
          "--decay: \"{}\" is neither a list of norms nor a kernel: expected r1,r2,… or exponential:α, polynomial:α, "
          "n-gram:n, delta:lag, airy:α",
          text);
  const double parameter = number(std::string_view(text).substr(colon + 1), "the parameter of " + kernel.kind);
  if (kernel.kind == "n-gram") {
    require(parameter >= 1 && parameter <= 1e6 && parameter == std::floor(parameter),
            "--decay: the n of n-gram is {}: expected an integer from 1 on", parameter);
    kernel.n = static_cast<int64_t>(parameter);
  }
  kernel.alpha = kernel.kind == "n-gram" ? 1 : parameter;
  require(terms >= 1, "--terms: expected >= 1, got {}", terms);
  Decay decay;
  decay.source = tasks::describe(kernel);
  try {
    decay.norms = tasks::kernel_values(kernel, terms);
  } catch (const Error& error) {
    fail("--decay: {}", error.what());
  }
  for (double& value : decay.norms) value = std::abs(value);
  require(!decay.norms.empty(), "--decay: {} is 0 at every lag 1..{} (--terms)", decay.source, terms);
  return decay;
}

}  // namespace

std::vector<std::string> parts_of_list(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text + at);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

void check_norms(const std::vector<double>& norms) {
  require(!norms.empty(), "--decay: empty, expected the norms r1,r2,… of lags 1, 2, …");
  for (size_t i = 0; i < norms.size(); ++i)
    require(std::isfinite(norms[i]) && norms[i] >= 0, "--decay: term {} is {}: expected a finite number >= 0", i + 1,
            norms[i]);
  require(std::any_of(norms.begin(), norms.end(), [](double norm) { return norm > 0; }),
          "--decay: every term is 0: expected one above 0");
  require(std::isfinite(std::accumulate(norms.begin(), norms.end(), 0.0)),
          "--decay: the sum of the terms is too large for a double");
}

Decay parse_decay(const std::string& text, int64_t terms) {
  const size_t colon = text.find(':');
  if (colon != std::string::npos) return kernel_decay(text, colon, terms);
  Decay decay;
  decay.source = "given";
  decay.norms = numbers(text, "--decay");
  check_norms(decay.norms);
  return decay;
}

std::vector<int64_t> parse_ranks(const std::string& text) {
  std::vector<int64_t> ranks;
  if (text.empty()) return ranks;
  for (const double rank : numbers(text, "--ranks")) {
    require(rank >= 1 && rank <= 1 << 20 && rank == std::floor(rank),
            "--ranks: term {} is {}: expected an integer from 1 on", ranks.size() + 1, rank);
    ranks.push_back(static_cast<int64_t>(rank));
  }
  return ranks;
}

Decay decay_of_text(const std::string& file, int64_t terms) {
  require(terms >= 1 && terms <= 256, "--terms: expected 1 to 256 lags of a text, got {}", terms);
  // As many kinds of bytes as keep the equations few enough to solve at once.
  constexpr int64_t most_equations = 1600, most_kinds = 64;
  const int64_t kinds = std::clamp<int64_t>(most_equations / (terms + 1), 2, most_kinds);
  models::MappedFile text;
  tasks::DecayEstimate found;
  try {
    text = models::MappedFile(file);
  } catch (const Error& error) {
    fail("--from-text: {}", error.what());
  }
  try {
    found = tasks::estimate_decay(text.text(), terms, kinds);
  } catch (const Error& error) {
    fail("--from-text: {}: {}", file, error.what());
  }
  require(std::any_of(found.norms.begin(), found.norms.end(), [](double norm) { return norm > 0; }),
          "--from-text: {}: no lag 1..{} helps to predict the next byte", file, terms);
  std::string source = fmt::format(
      "{}: least squares over {} bytes, {} kinds (the token's width without --token-dim), explains {:.0f} %, noise {}",
      file, text.size(), found.symbols, 100 * found.explained, rounded(found.noise));
  return {std::move(found.norms), std::move(source), true, found.symbols, {}};
}

}  // namespace headroom::experiments
