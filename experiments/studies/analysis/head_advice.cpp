#include "experiments/studies/analysis/head_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace headroom::experiments {
namespace {

using Standing = HeadChoice::Option::Standing;
using Curves = std::vector<const HeadChoice*>;

void add(HeadAdvice& advice, const HeadChoice& curve, const HeadChoice::Option& option) {
  const Standing standing = curve.tested(option);
  advice.good += standing == Standing::as_good ? 1 : 0;
  advice.open += standing == Standing::open ? 1 : 0;
  advice.worse += standing == Standing::worse ? 1 : 0;
  advice.unlearned += option.unlearned > 0 ? 1 : 0;
  advice.times += std::log(std::max(option.ratio, 1.0));  // a sum until all curves are in it
  advice.curves.push_back(&curve);
}

/// The share of the curves that speak against a number, and how far from the best it is.
std::tuple<double, double, int64_t> rank(const HeadAdvice& a) {
  return {static_cast<double>(a.worse + a.unlearned) / static_cast<double>(a.curves.size()), a.times, a.heads};
}

Curves at_width(const Curves& curves, int64_t width) {
  Curves out;
  std::copy_if(curves.begin(), curves.end(), std::back_inserter(out),
               [&](const HeadChoice* c) { return c->width == width; });
  return out;
}

constexpr int64_t of_narrow = 64, of_wide = 128, widest_narrow = 2048;

}  // namespace

std::vector<HeadAdvice> ranked_heads(const Curves& curves) {
  std::map<double, HeadAdvice> by_heads;
  for (const HeadChoice* curve : curves)
    for (const HeadChoice::Option& option : curve->options) {
      HeadAdvice& advice = by_heads[option.heads];
      if (advice.heads == 0)
        advice = {.width = curve->width,
                  .heads = static_cast<int64_t>(option.heads),
                  .head_dim = static_cast<int64_t>(option.v_dim),
                  .curves = {},
                  .times = 0};
      add(advice, *curve, option);
    }
  std::vector<HeadAdvice> all;
  for (auto& [heads, advice] : by_heads) {
    if (2 * advice.curves.size() < curves.size()) continue;
    advice.times = std::exp(advice.times / static_cast<double>(advice.curves.size()));
    all.push_back(std::move(advice));
  }
  std::sort(all.begin(), all.end(), [](const HeadAdvice& a, const HeadAdvice& b) { return rank(a) < rank(b); });
  return all;
}

HeadAdvice head_advice(const Curves& task, int64_t width, const std::string& positions) {
  const Curves curves = at_width(task, width);
  if (curves.empty()) return {};
  HeadAdvice joint = ranked_heads(curves).front();
  Curves own;
  std::copy_if(curves.begin(), curves.end(), std::back_inserter(own),
               [&](const HeadChoice* c) { return scheme_of(*c) == positions; });
  const auto is_worse = [&](const HeadChoice* c) {
    return std::any_of(c->options.begin(), c->options.end(), [&](const HeadChoice::Option& o) {
      return static_cast<int64_t>(o.heads) == joint.heads && o.standing == Standing::worse;
    });
  };
  const auto against = std::count_if(own.begin(), own.end(), is_worse);
  return against > 0 && 2 * against >= std::ssize(own) ? ranked_heads(own).front() : joint;
}

std::string scheme_of(const HeadChoice& choice) { return choice.positions.substr(0, choice.positions.find(' ')); }

std::vector<std::string> schemes_of(const Curves& curves) {
  std::set<std::string> schemes;
  for (const HeadChoice* c : curves) schemes.insert(scheme_of(*c));
  return {schemes.begin(), schemes.end()};
}

std::vector<int64_t> widths_of(const Curves& curves) {
  std::set<int64_t> widths;
  for (const HeadChoice* c : curves) widths.insert(c->width);
  return {widths.begin(), widths.end()};
}

int64_t usual_head_dim(int64_t width) {
  const int64_t usual = width <= widest_narrow ? of_narrow : of_wide;
  int64_t nearest = width;
  for (int64_t dim = 1; dim <= std::min(width, 4 * usual); ++dim)
    if (width % dim == 0 && factor_between(dim, usual) < factor_between(nearest, usual)) nearest = dim;
  return nearest;
}

std::string usual_head_dims_text() {
  return fmt::format("{} up to a model width of {} and {} above", of_narrow, widest_narrow, of_wide);
}

double factor_between(int64_t a, int64_t b) {
  const double ratio = static_cast<double>(a) / static_cast<double>(b);
  return std::max(ratio, 1 / ratio);
}

}  // namespace headroom::experiments
