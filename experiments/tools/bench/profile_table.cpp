#include "experiments/tools/bench/profile_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

namespace headroom::experiments {
namespace {

using engine::DType;
using engine::Product;
using engine::ProfiledOp;
using engine::Work;

/// The work of each op, without the products of those that it ran, and without bytes and exponentials of one that
/// another one ran: they are part of that one's.
std::vector<Work> own_work(const std::vector<ProfiledOp>& ops) {
  std::vector<Work> out;
  for (const ProfiledOp& op : ops) out.push_back(op.work);
  for (size_t i = 0; i < ops.size(); ++i) {
    for (size_t inner = i; ops[inner].outer != inner; inner = ops[inner].outer)
      for (const Product& product : ops[i].work.products) {
        std::vector<Product>& products = out[ops[inner].outer].products;
        if (const auto found = std::find(products.begin(), products.end(), product); found != products.end())
          products.erase(found);
      }
    if (ops[i].outer != i) out[i].exponentials = out[i].bytes = 0;
  }
  return out;
}

/// FLOP/s of the best product of each dtype among the step's and a large square one.
std::map<DType, double> peaks(const std::vector<Work>& works, const Rates& rates) {
  std::map<DType, double> best;
  const auto look_at = [&](const Product& p) {
    if (p.flops() > 0) best[p.dtype] = std::max(best[p.dtype], p.flops() / rates.product(p));
  };
  for (const Work& work : works)
    for (const Product& p : work.products) {
      look_at(p);
      look_at({.m = 1024, .n = 1024, .k = 1024, .dtype = p.dtype});
    }
  return best;
}

/// Seconds at the best rates.
struct SecondsAtBest {
  double products = 0, exponentials = 0, bytes = 0;
};

void set_limit(ProfileRow& row, const SecondsAtBest& sums) {
  const auto look_at = [&](const char* name, double seconds, double ms) {
    if (const double share = ms > 0 ? seconds * 1e3 / ms : 0; share > row.of_peak)
      row.of_peak = share, row.limit = name;
  };
  look_at("products", sums.products, row.ms);
  look_at("exponentials", sums.exponentials, row.whole_ms);
  look_at("bytes", sums.bytes, row.whole_ms);
}

}  // namespace

ProfileTable profile_table(const std::vector<ProfiledOp>& ops, int steps, const Rates* rates) {
  const std::vector<Work> works = own_work(ops);
  const std::map<DType, double> peak = rates ? peaks(works, *rates) : std::map<DType, double>();
  std::map<std::pair<std::string, Work>, double> least;  // microseconds
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto [place, is_new] = least.try_emplace({ops[i].name, works[i]}, ops[i].own_time);
    if (!is_new) place->second = std::min(place->second, ops[i].own_time);
  }
  ProfileTable table{.has_floor = rates != nullptr};
  std::map<std::string, std::pair<ProfileRow, SecondsAtBest>> rows;
  for (size_t i = 0; i < ops.size(); ++i) {
    const ProfiledOp& op = ops[i];
    const Work& work = works[i];
    auto& [row, at_peak] = rows[op.name];
    row.op = op.name;
    ++row.calls;
    row.ms += op.own_time * 1e-3;
    row.whole_ms += op.device_time * 1e-3;
    row.host_ms += op.host_time * 1e-3;
    row.flops += work.flops();
    row.bytes += op.work.bytes;
    row.exponentials += work.exponentials;
    if (!rates) continue;
    SecondsAtBest floor{.exponentials = work.exponentials * rates->exponential};
    for (const Product& p : work.products) {
      floor.products += rates->product(p);
      at_peak.products += p.flops() / peak.at(p.dtype);
    }
    if (op.work.products.empty()) floor.bytes = work.bytes * rates->byte;
    at_peak.exponentials += floor.exponentials;
    at_peak.bytes += op.work.bytes * rates->byte;
    const double all = floor.products + floor.exponentials + floor.bytes;
    if (all <= 0) continue;
    const double ms = 1e3 * std::min(1.0, std::max(0.0, least.at({op.name, work}) * 1e-6) / all);
    table.products_ms += floor.products * ms / steps;
    table.exponentials_ms += floor.exponentials * ms / steps;
    table.bytes_ms += floor.bytes * ms / steps;
    row.floor_ms += all * ms;
  }
  for (auto& [name, sums] : rows) {
    ProfileRow& row = sums.first;
    set_limit(row, sums.second);
    for (double* x :
         {&row.calls, &row.ms, &row.whole_ms, &row.host_ms, &row.flops, &row.bytes, &row.exponentials, &row.floor_ms})
      *x /= steps;
    table.rows.push_back(row);
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  return table;
}

std::string profile_text(const ProfileTable& table) {
  double all = 0;
  for (const ProfileRow& row : table.rows) all += row.ms;
  std::string text = fmt::format("{:<28}{:>7}{:>10}{:>8}{:>11}{:>10}{:>9}{:>8}", "op, in a step", "calls", "ms",
                                 "share", "us each", "host ms", "GFLOP/s", "GB/s");
  text += table.has_floor ? fmt::format("{:>9}  {:<12}{:>9}\n", "of peak", "limit", "floor ms") : "\n";
  const auto rate = [](double work, double ms) {
    return work > 0 && ms > 0 ? fmt::format("{:.1f}", work / ms * 1e-6) : "-";
  };
  for (const ProfileRow& row : table.rows) {
    fmt::format_to(std::back_inserter(text), "{:<28}{:>7.0f}{:>10.3f}{:>7.1f}%{:>11.1f}{:>10.3f}{:>9}{:>8}", row.op,
                   row.calls, row.ms, all > 0 ? 100 * row.ms / all : 0, 1e3 * row.ms / row.calls, row.host_ms,
                   rate(row.flops, row.ms), rate(row.bytes, row.whole_ms));
    text +=
        table.has_floor ? fmt::format("{:>8.0f}%  {:<12}{:>9.3f}\n", 100 * row.of_peak, row.limit, row.floor_ms) : "\n";
  }
  return text;
}

nlohmann::ordered_json profile_json(const ProfileTable& table) {
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const ProfileRow& row : table.rows) {
    ops.push_back({{"op", row.op},
                   {"calls", row.calls},
                   {"ms", row.ms},
                   {"flops", row.flops},
                   {"bytes", row.bytes},
                   {"exponentials", row.exponentials}});
    if (table.has_floor)
      ops.back().update({{"of_peak", row.of_peak}, {"limit", row.limit}, {"floor_ms", row.floor_ms}});
  }
  nlohmann::ordered_json json{{"ops", ops}};
  if (table.has_floor)
    json["floor"] = {{"ms", table.floor_ms()},
                     {"products_ms", table.products_ms},
                     {"exponentials_ms", table.exponentials_ms},
                     {"bytes_ms", table.bytes_ms}};
  return json;
}

}  // namespace headroom::experiments
