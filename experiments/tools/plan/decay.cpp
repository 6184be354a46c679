#include "experiments/tools/plan/decay.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>

#include "engine/error.h"
#include "tasks/kernel.h"

namespace headroom::experiments {
namespace {

/// All of `text` as a number.
double number(std::string_view text, const std::string& what, const char* option = "--decay") {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size(), "{}: {} is \"{}\": expected a number", option, what,
          text);
  return value;
}

/// The numbers between the commas of an option's text.
std::vector<double> numbers(const std::string& text, const char* option) {
  std::vector<double> found;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    found.push_back(
        number(std::string_view(text).substr(at, comma - at), fmt::format("term {}", found.size() + 1), option));
    at = comma + 1;
  }
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

}  // namespace headroom::experiments
