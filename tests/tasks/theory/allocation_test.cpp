#include "tasks/theory/allocation.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;

namespace {

const nlohmann::json& reference() {
  static const auto json =
      nlohmann::json::parse(std::ifstream(headroom::testing::source_root() + "/tests/tasks/theory/allocation.json"));
  return json;
}

auto near(double value) { return Approx(value).margin(0).epsilon(1e-9); }

std::vector<double> norms(const nlohmann::json& test) {
  const std::string kind = test["kernel"];
  const nlohmann::json& parameters = test["parameters"];
  std::vector<double> rho;
  for (int s = 1; s <= test["lags"].get<int>(); ++s) {
    if (kind == "ngram") rho.push_back(s <= parameters["n"].get<int>() ? 1 : 0);
    else if (kind == "exponential") rho.push_back(std::exp(-parameters["rate"].get<double>() * s));
    else if (kind == "power") rho.push_back(std::pow(1.0 + s, -parameters["power"].get<double>()));
    else rho.push_back(s == parameters["lag"].get<int>() ? 1 : 0);
  }
  return rho;
}

double sum_of(const std::vector<double>& rho) {
  double sum = 0;
  for (const double value : rho) sum += value;
  return sum;
}

/// The objective as the paper writes it.
double objective(const std::vector<double>& rho, const std::vector<LagGroup>& groups, const GroupError& error) {
  double sum = sum_of(rho);
  for (const LagGroup& group : groups) sum += rho[static_cast<size_t>(group.lag - 1)] * (error(group) - 1);
  return sum;
}

int64_t width_of(const std::vector<LagGroup>& groups) {
  int64_t spent = 0;
  for (const LagGroup& group : groups) spent += group.heads * group.head_dim;
  return spent;
}

/// Every allocation that the rules allow, tried one by one.
class Enumeration {
 public:
  Enumeration(const std::vector<double>& rho, int64_t width, int64_t token_dim, GroupError error, AllocationRules rules)
      : rho_(rho), token_dim_(token_dim), error_(std::move(error)), rules_(rules) {
    std::vector<LagGroup> groups;
    descend(1, width, groups);
  }
  double best = 1e300;

  /// The cheapest that differs from `groups` at a lag that counts.
  double best_beside(const std::vector<LagGroup>& groups) const {
    double least = 1e300;
    for (const auto& [cost, other] : all_)
      if (counting(other) != counting(groups)) least = std::min(least, cost);
    return least;
  }

 private:
  std::vector<LagGroup> counting(std::vector<LagGroup> groups) const {
    std::erase_if(groups, [&](const LagGroup& g) { return rho_[static_cast<size_t>(g.lag - 1)] == 0; });
    return groups;
  }
  void finish(int64_t left, const std::vector<LagGroup>& groups) {
    if (rules_.exact_width && left > 0) return;
    if (rules_.lags == Lags::prefix && groups.empty()) return;
    const double cost = objective(rho_, groups, error_);
    all_.emplace_back(cost, groups);
    best = std::min(best, cost);
  }
  void descend(int64_t lag, int64_t left, std::vector<LagGroup>& groups) {
    if (lag > static_cast<int64_t>(rho_.size())) return finish(left, groups);
    if (rules_.lags == Lags::prefix) finish(left, groups);
    else descend(lag + 1, left, groups);
    for (int64_t dim = 1; dim <= std::min(left, token_dim_); ++dim)
      for (int64_t heads = 1; heads * dim <= left; ++heads) {
        groups.push_back({lag, heads, dim});
        descend(lag + 1, left - heads * dim, groups);
        groups.pop_back();
      }
  }

  const std::vector<double>& rho_;
  int64_t token_dim_;
  GroupError error_;
  AllocationRules rules_;
  std::vector<std::pair<double, std::vector<LagGroup>>> all_;
};

}  // namespace

TEST_CASE("E_D(H) falls to D/d heads, jumps, then rises") {
  const nlohmann::json& curve = reference()["budget_curve"];
  const auto values = curve["values"].get<std::vector<double>>();
  REQUIRE(values.size() == 128);
  for (int64_t h = 1; h <= 128; ++h)
    CHECK(budget_curve(curve["width"], curve["token_dim"], h) == near(values[static_cast<size_t>(h - 1)]));
  CHECK(budget_curve(128, 16, 9) == near(0.4806957491149759));
  CHECK(budget_curve(128, 16, 128) == near(0.978607256411501));
  for (int64_t h = 1; h <= 128; ++h)
    if (h != 8) CHECK(budget_curve(128, 16, h) > budget_curve(128, 16, 8));
  CHECK_THROWS_WITH(budget_curve(128, 16, 0), "budget curve: width 128, token dim 16, heads 0 must be >= 1");
}

TEST_CASE("the 4-gram's curve over equal heads at D = 256, d = 8") {
  const std::vector<double> rho(4, 1.0);
  for (const nlohmann::json& row : reference()["equal_heads"]) {
    const double want = row["objective"];
    const Allocation found = equal_heads(rho, row["heads"], row["head_dim"], 8, Lags::prefix);
    CHECK(found.bound == near(want));
    CHECK(objective(rho, found.groups, paper_error(8)) == near(want));
    std::vector<int64_t> heads;
    for (const LagGroup& group : found.groups) {
      CHECK(group.lag == static_cast<int64_t>(heads.size()) + 1);
      heads.push_back(group.heads);
    }
    CHECK(heads == row["heads_of_lag"].get<std::vector<int64_t>>());
    // Where fetching nothing is allowed, it is chosen when one head is worse: 4 instead of 4.33.
    CHECK(equal_heads(rho, row["heads"], row["head_dim"], 8).bound == near(std::min(want, 4.0)));
  }
  const Allocation best = equal_heads(rho, 32, 8, 8);
  CHECK(best.groups == std::vector<LagGroup>{{1, 8, 8}, {2, 8, 8}, {3, 8, 8}, {4, 8, 8}});
}

TEST_CASE("the best allocation of any heads, for four kernels and all rules") {
  REQUIRE(reference()["allocations"].size() == 48);
  for (const nlohmann::json& test : reference()["allocations"]) {
    const std::vector<double> rho = norms(test);
    const int64_t width = test["width"], token_dim = test["token_dim"];
    const GroupError error = paper_error(token_dim);
    CHECK(sum_of(rho) == near(test["nothing"]));
    const auto check = [&](const char* name, const AllocationRules& rules) {
      const Allocation found = best_allocation(rho, width, token_dim, rules);
      CHECK(found.bound == near(test[name]));
      CHECK(objective(rho, found.groups, error) == near(found.bound));
      CHECK((rules.exact_width ? width_of(found.groups) == width : width_of(found.groups) <= width));
      // The reference's own groups: optima can tie, so ours may be others, but these must be as good and allowed.
      std::vector<LagGroup> groups;
      for (const nlohmann::json& group : test["groups"][name]) groups.push_back({group[0], group[1], group[2]});
      CHECK(objective(rho, groups, error) == near(test[name]));
      CHECK((rules.exact_width ? width_of(groups) == width : width_of(groups) <= width));
      for (const LagGroup& group : groups) CHECK(group.head_dim <= token_dim);
    };
    check("prefix_eq", {.lags = Lags::prefix, .exact_width = true});
    check("prefix_le", {.lags = Lags::prefix});
    check("subset_eq", {.exact_width = true});
    CHECK(best_allocation(rho, width, token_dim).bound <= test["subset_eq"].get<double>() + 1e-12);
    if (!test.contains("reordered_eq")) continue;
    // Reordering rho would charge the delta's heads for lag 1: below every allocation that there is.
    CHECK(extraction_error(1, static_cast<double>(width / token_dim)) == near(test["reordered_eq"]));
    CHECK(best_allocation(rho, width, token_dim).bound > test["reordered_eq"].get<double>());
  }
}

TEST_CASE("an exact width is harmful where the token dim does not divide it") {
  const std::vector<double> rho(4, 1.0);
  CHECK(best_allocation(rho, 250, 8, {.exact_width = true}).bound == Approx(1.0536).margin(5e-5).epsilon(0));
  CHECK(best_allocation(rho, 250, 8).bound == Approx(0.7072).margin(5e-5).epsilon(0));
}

TEST_CASE("trying every allocation finds the same optimum and the same runner-up") {
  const std::vector<std::vector<double>> kernels = {{1, 1}, {1, 0.4, 0.1}, {0, 0, 1}, {0.3, 2, 0.3}, {5}};
  for (const auto& rho : kernels) {
    for (const int64_t width : {1, 2, 5, 9}) {
      for (const int64_t token_dim : {1, 2, 3, 12}) {
        for (const GroupError& error : {paper_error(token_dim), sharper_error(token_dim)}) {
          for (int kind = 0; kind < 4; ++kind) {
            const AllocationRules rules{.lags = kind & 1 ? Lags::prefix : Lags::subset, .exact_width = (kind & 2) != 0};
            const Enumeration all(rho, width, token_dim, error, rules);
            if (all.best > 1e299) {
              CHECK_THROWS_WITH(best_allocation(rho, width, token_dim, error, rules),
                                Catch::Contains("no heads of the widths allowed spend a budget"));
              continue;
            }
            const AllocationReport found = study_allocation(rho, width, token_dim, error, rules);
            CHECK(found.best.bound == near(all.best));
            CHECK(objective(rho, found.best.groups, error) == near(all.best));
            CHECK(found.cost_of_width.back() == near(all.best));
            const double second = all.best_beside(found.best.groups);
            REQUIRE(found.runner_up.has_value() == (second < 1e299));
            if (!found.runner_up) continue;
            CHECK(found.runner_up->bound == near(second));
            CHECK(objective(rho, found.runner_up->groups, error) == near(second));
            CHECK(width_of(found.runner_up->groups) <= width);
          }
        }
      }
    }
  }
}

TEST_CASE("smaller widths cost what their own optimum costs") {
  const std::vector<double> rho = {1, 0.5, 0.25};
  const AllocationReport found = study_allocation(rho, 24, 4, paper_error(4), {});
  REQUIRE(found.cost_of_width.size() == 25);
  CHECK(found.cost_of_width[0] == near(1.75));
  for (int64_t width = 1; width <= 24; ++width)
    CHECK(found.cost_of_width[static_cast<size_t>(width)] == near(best_allocation(rho, width, 4).bound));
}

TEST_CASE("the sharper bound is flat right of the optimum where the paper's rises, and has the same minimum") {
  const std::vector<double> rho(4, 1.0);
  const double best = best_allocation(rho, 256, 8).bound;
  CHECK(best == near(0.6834970558714126));
  for (const int64_t dim : {8, 4, 2, 1}) CHECK(equal_heads(rho, 256 / dim, dim, sharper_error(8)).bound == near(best));
  CHECK(equal_heads(rho, 64, 4, 8).bound == near(3.1701756526818965));
  // Three heads of three columns cover a token of eight: one full head, which costs more than sqrt(1 - 3/8) + c/3.
  CHECK(sharper_error(8)({1, 3, 3}) == near(std::sqrt(1 - 3.0 / 8) + extraction_error(1, 3)));
  CHECK(sharper_error(8)({1, 30, 3}) == near(extraction_error(1, 10)));
  for (const nlohmann::json& test : reference()["allocations"]) {
    const std::vector<double> decay = norms(test);
    const int64_t width = test["width"], token_dim = test["token_dim"];
    CHECK(best_allocation(decay, width, token_dim, sharper_error(token_dim), {}).bound ==
          near(best_allocation(decay, width, token_dim).bound));
  }
}

TEST_CASE("an allocation does not depend on the number of threads") {
  std::vector<double> rho;
  for (int s = 1; s <= 12; ++s) rho.push_back(1.0 / s);
  const auto run = [&](int threads) {
    const engine::ThreadScope scope(threads);
    return study_allocation(rho, 3000, 3, paper_error(3), {});
  };
  const AllocationReport one = run(1), three = run(3);
  CHECK(one.best.bound == three.best.bound);
  CHECK(one.best.groups == three.best.groups);
  CHECK(one.runner_up->groups == three.runner_up->groups);
}

TEST_CASE("a lone far lag: the prefix pays for the lags before it") {
  std::vector<double> rho(20, 0.0);
  rho[19] = 1;
  const Allocation subset = best_allocation(rho, 128, 8);
  CHECK(subset.groups == std::vector<LagGroup>{{20, 16, 8}});
  CHECK(subset.bound == near(extraction_error(20, 16)));
  CHECK(best_allocation(rho, 128, 8, {.lags = Lags::prefix}).bound > subset.bound + 0.02);
  CHECK(best_allocation(rho, 128, 8, {.lags = Lags::prefix}).groups.size() == 20);
}

TEST_CASE("what cannot be allocated is refused") {
  CHECK_THROWS_WITH(equal_heads({}, 4, 8, 8), "allocation: there are no lags");
  CHECK_THROWS_WITH(equal_heads({1, -1}, 4, 8, 8),
                    "allocation: the norm of rho at lag 2 is -1: expected a finite one >= 0");
  CHECK_THROWS_WITH(best_allocation({std::nan("")}, 4, 8), Catch::Contains("at lag 1 is nan"));
  CHECK_THROWS_WITH(best_allocation({0, 0}, 4, 8), "allocation: every norm of rho is 0: expected one above 0");
  CHECK_THROWS_WITH(equal_heads({1}, 0, 8, 8), "allocation: the number of heads is 0: expected >= 1");
  CHECK_THROWS_WITH(equal_heads({1}, 1, 8, 0), "allocation: the token dim is 0: expected >= 1");
  CHECK_THROWS_WITH(best_allocation({1}, 0, 8), "allocation: the width is 0: expected >= 1");
  CHECK_THROWS_WITH(best_allocation(std::vector<double>(1000, 1.0), 1000000, 8),
                    Catch::Contains("1000 lags times a budget of 1000000 are too many"));
}

TEST_CASE("a lag's rank stands for the token's width") {
  const LagRanks ranks{8, {8, 6, 2}};
  CHECK(ranks.at(2) == 6);
  CHECK(ranks.at(4) == 8);  // beyond the list
  for (const int64_t dim : {1, 2, 5, 8})
    for (const int64_t lag : {1, 2, 3, 4}) {
      const LagGroup group{lag, 3, dim};
      CHECK(paper_error(ranks)(group) == near(paper_error(ranks.at(lag))(group)));
      CHECK(sharper_error(ranks)(group) == near(sharper_error(ranks.at(lag))(group)));
    }
  CHECK(paper_error(ranks)({3, 1, 2}) == near(extraction_error(3, 1)));  // two wide is wide enough
  // Unequal heads: as wide as their lags need, and more of them than equal ones of the token's width.
  const Allocation best = best_allocation({1, 1, 1, 1}, 80, 8, paper_error({8, {8, 6, 4, 2}}), {});
  REQUIRE(best.groups.size() == 4);
  int64_t spent = 0;
  for (size_t i = 0; i < 4; ++i) {
    CHECK(best.groups[i].head_dim == std::vector<int64_t>{8, 6, 4, 2}[i]);
    spent += best.groups[i].heads * best.groups[i].head_dim;
  }
  CHECK(spent <= 80);
  CHECK(best.bound < equal_heads({1, 1, 1, 1}, 10, 8, paper_error({8, {8, 6, 4, 2}})).bound);
  CHECK_THROWS_WITH(check_ranks("--ranks", {8, {8, 9}}), "--ranks: the rank of lag 2 is 9: expected 1 to 8");
}
