#include "experiments/studies/claims/reference.h"

#include "tests/support/catch.h"

namespace headroom::experiments {

TEST_CASE("numbers of the paper's tables") {
  CHECK(paper_number({"jacobian-position", "norm", "2"}) == 0.4512);
  CHECK(paper_number({"lowrank-perplexity", "layer 2", "16"}) == 5.22);
  CHECK(paper_number({"two-stage", "svd + II", "odd", "64"}) == 94.84);
  CHECK(paper_number({"two-stage", "components (layers 5-12, d_h=16)", "0", "sst2"}) == 93.81);
  CHECK(paper_number({"ngram-tradeoff", "optimum", "heads"}) == 8);
  CHECK_FALSE(paper_number({"two-stage", "seed"}));
  CHECK_FALSE(paper_number({"jacobian-position", "query", "2"}));
  CHECK_FALSE(paper_number({}));
}

TEST_CASE("columns of the paper's tables") {
  const auto norms = paper_points({"jacobian-position", "norm"});
  REQUIRE(norms.size() == 10);
  CHECK(norms.front() == std::pair(2.0, 0.4512));
  CHECK(norms.back() == std::pair(1024.0, 0.00165));
  CHECK(paper_points({"two-stage", "svd + I", "1-8"}).size() == 6);
  CHECK(paper_points({"two-stage"}).empty());
  CHECK(paper_points({"ngram-tradeoff", "optimum"}).empty());
}

TEST_CASE("every number has a label of its own, and a path that leads to it") {
  size_t count = 0;
  for (const PaperTable& table : paper_tables()) {
    for (const PaperNumber& number : table.numbers) {
      CHECK(paper_number(number.path) == number.value);
      CHECK_FALSE(number.label.empty());
      ++count;
    }
  }
  CHECK(paper_tables().size() == 4);
  CHECK(count > 150);
  CHECK(paper_tables()[0].setting == "TinyLlama-1.1B, layer 0, head 0, lines 2325–2341 of the source");
  CHECK(paper_tables()[1].numbers[1].label == "layers 21-24, rank = 4");
}

}  // namespace headroom::experiments
