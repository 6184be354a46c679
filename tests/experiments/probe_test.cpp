// headroom probe: what is said of measures, the page, JSON, and the program.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/output/text.h"
#include "experiments/tools/probe/probe_output.h"
#include "models/checkpoints/model_files.h"
#include "tests/experiments/program.h"
#include "tests/experiments/studies/pages/folder.h"
#include "tests/experiments/studies/pages/xml.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

using namespace headroom::experiments;
using namespace headroom::testing;
using headroom::tasks::HeadProbe;
using headroom::tasks::QueryMeasures;

namespace {

/// A query with this norm, and a largest logit of `delta`.
QueryMeasures query(double norm, double delta = 1) {
  QueryMeasures m;
  m.jacobian_norm = norm;
  m.largest_logit = delta;
  m.entropy = 0.5;
  m.logits_rms = 2, m.logits_rms_all = 3, m.logits_deviation = 1;
  return m;
}

/// `rank` singular values of 1 in a width of 8, then zeros.
std::vector<double> values(int rank) {
  std::vector<double> out(8);
  std::fill(out.begin(), out.begin() + rank, 1.0);
  return out;
}

/// Two layers of two heads whose scores need 2, 3, 6 and 8 of 8 dimensions. The norms fall as 1/L, but that of the last
/// head, which stays. Two lengths, 4 and 16, of one piece each.
ProbeResults made_up() {
  ProbeResults r;
  r.model = "models/<b>&";
  r.name = "A <script> & \"name\"";
  r.family = "llama";
  r.text = "folder/text.txt";
  r.tokens = 100;
  r.kv_heads = 1, r.head_dim = 8;
  r.rotary = true;
  r.method = "whitened-relative";
  r.savings = {.parameters = 1000, .queries_keys = 100, .values_output = 90, .bytes = 4000};
  r.savings.cache_f32 = 128, r.savings.cache_half_keys = 96, r.savings.cache_q8_0 = 40;
  r.energies = {0.5, 0.99};
  r.probe.spans = {{4, {7}}, {16, {3}}};
  r.probe.positions = {1, 3, 7, 15};
  r.probe.layers = r.probe.heads = 2;
  const int ranks[] = {2, 3, 6, 8};
  for (int64_t i = 0; i < 4; ++i) {
    HeadProbe head{.layer = i / 2,
                   .head = i % 2,
                   .last = {},
                   .middle = {},
                   .norm_stderr = {0, 0},
                   .at_position = {},
                   .spectra = {}};
    const bool falls = i != 3;
    for (const double length : {4.0, 16.0}) {
      head.last.push_back(query(falls ? 1 / length : 0.25));
      head.middle.push_back(query(0.1));
    }
    for (const double position : {2.0, 4.0, 8.0, 16.0}) head.at_position.push_back(query(falls ? 1 / position : 0.25));
    head.last[1].sink_mass = i == 1 ? 0.95 : 0.1;
    head.largest_norm = 0.4;
    head.spectra = {i / 2, i % 2, values(8), values(7), values(8), values(ranks[i])};
    r.probe.probes.push_back(head);
  }
  return r;
}

std::string finding_of(const ProbeResults& r, const std::string& heading) {
  for (const ProbeFinding& finding : probe_findings(r))
    if (finding.heading == heading) return finding.text;
  return "";
}

std::string checkpoint() { return std::string(source_root()) + "/tests/models/pretrained/checkpoints/smollm2"; }
std::string text() { return std::string(source_root()) + "/tests/models/pretrained/text.txt"; }

}  // namespace

TEST_CASE("a quantile lies between its neighbours") {
  CHECK(finite_quantile({4, 1, 2}, 0.5) == 2);
  CHECK(finite_quantile({4, 1, 2, 3}, 0.5) == 2.5);
  CHECK(finite_quantile({1, 5}, 0.25) == 2);
  CHECK(finite_quantile({std::nan(""), 7}, 0.9) == 7);
  CHECK(std::isnan(finite_quantile({}, 0.5)));
}

TEST_CASE("the sentences are computed from the measures") {
  ProbeResults r = made_up();
  CHECK(
      finding_of(r, "Where the headroom is") ==
      "The median head needs 4.5 of the 8 dimensions of its queries and keys to hold 99 % of the energy of its scores "
      "on this text, 2.5 for 50 %. At 99 %, 2 of 4 heads need at most half of their width, one head in ten at most 2, "
      "one in ten at least 8. Energy is the sum of the scores' squares, over centred keys.");
  CHECK(finding_of(r, "In which layers and heads") ==
        "Dimensions for 99 %, median of a layer's heads: fewest in layer 0 (2.5); most in layer 1 (7). The narrowest "
        "head is layer 0 head 0 with 2 of 8, the widest layer 1 head 1 with 8.");
  CHECK(contains(finding_of(r, "What the weights alone show"), "takes 8 singular values in the median head, of W_K 7"));
  CHECK(contains(finding_of(r, "What the weights alone show"), "shows only with the activations"));
  const std::string slope = finding_of(r, "The slope of Theorem 2");
  CHECK(contains(slope,
                 "3 of 4 heads follow it, with a slope within 0.25 of -1 from L = 4 to 16; the slope of 1 of 4 is "
                 "flatter than -0.5, and the median is -1.000."));
  CHECK(contains(slope, "where the bound is 0.92 and is vacuous"));  // 2 e² / 16
  CHECK(contains(slope, "The largest norm at any measured query is 0.400000"));
  CHECK(contains(finding_of(r, "Attention sinks"),
                 "1 of 4 heads put more than half of their attention on the first token, 1 of them more"));

  for (HeadProbe& head : r.probe.probes) head.last = {query(0.25, 0.01), query(1.0 / 16, 0.01)};
  CHECK(contains(finding_of(r, "The slope of Theorem 2"), "Every head follows it"));
  CHECK(contains(finding_of(r, "The slope of Theorem 2"), "where the bound is 0.13. "));
  for (HeadProbe& head : r.probe.probes) head.last = {query(0.25, 30), query(0.3, 30)};
  CHECK(contains(finding_of(r, "The slope of Theorem 2"), "No head follows it"));
  CHECK(contains(finding_of(r, "The slope of Theorem 2"), "where the bound is 10^25 and is vacuous"));

  CHECK(contains(probe_limits(r)[3], "The scores' ranks come from 16 tokens for 8 dimensions: with so few"));
  r.rotary = false;
  r.probe.spans.back().starts.assign(16, 0);  // 256 tokens
  CHECK(probe_limits(r).size() == 3);
}

TEST_CASE("what can be won is said before anything is cut") {
  const ProbeResults r = made_up();
  CHECK(
      finding_of(r, "What can be won") ==
      "Quantise the weights first: 8 bits a number (headroom convert --dtype q8_0) leave about 1.1 kB of 4.0 kB. Then "
      "change the cache's type first, and the heads after it: 8 bits (--cache-dtype q8_0) take 40 B a token instead "
      "of 64 B in f16; half the width of all keys leaves 48 B. Queries and keys are 10 % of the model's numbers, "
      "values and output projections 9.0 %: no narrower head saves more than that. The files take 32.0 bits a "
      "number: of their 4.0 kB, half the width of all queries and keys saves at most 200 B. The other 81 % take "
      "other means: a pruner such as LLM-Pruner for the feed-forward network, 4-bit weights (headroom convert MODEL -o "
      "m.gguf --dtype q4_k).");
  const std::vector<SizeAfter> sizes = sizes_after(r.savings);
  REQUIRE(sizes.size() == 6);
  CHECK(sizes[1].name == "weights: 8 bits");
  CHECK(sizes[4].bytes == 40);
  CHECK(sizes[4].share == 0.625);
  PossibleSavings quantised = r.savings;
  quantised.bytes = 625;
  CHECK(text_of(quantised).starts_with("Change the cache's type first"));
  CHECK(contains(text_of(quantised), "The files take 5.0 bits a number: of their 625 B, half"));
  // One key-value head of width 8 for three query heads in each of two layers of width 24.
  const auto files = headroom::models::ModelFiles::open(checkpoint());
  const PossibleSavings counted = possible_savings(files->description().config, 0);
  CHECK(counted.queries_keys == 2 * 24 * 8 * (3 + 1));
  CHECK(counted.values_output == 2 * 24 * 8 * (3 + 1));
  CHECK(counted.cache_f32 == 2 * 4 * 16);
  CHECK(counted.cache_half_keys == 2 * 4 * 12);
  CHECK(counted.cache_q8_0 == 2 * 2 * (8 + 2));
  CHECK_FALSE(contains(text_of(counted), "files"));
}

TEST_CASE("the measures of a head, for heat maps") {
  const ProbeResults r = made_up();
  const auto value = [&](const std::string& id, int64_t layer, int64_t head) {
    for (const HeadMeasure& measure : head_measures(r))
      if (measure.id == id) return measure.value(r.probe.at(layer, head));
    FAIL("no measure " + id);
    return 0.0;
  };
  CHECK(value("norm_slope", 0, 0) == Approx(-1));
  CHECK(value("norm_slope", 1, 1) == Approx(0).margin(1e-12));
  CHECK(value("norm_band", 0, 0) == Approx(1));
  CHECK(value("norm_band", 1, 1) == Approx(8));
  CHECK(value("norm", 0, 0) == Approx(1.0 / 16));
  CHECK(value("rank_scores_0.99", 1, 0) == 6);
  CHECK(value("rank_scores_0.5", 1, 0) == 3);
  CHECK(value("rank_key_0.99", 0, 0) == 7);
  CHECK(value("logits_all", 0, 0) == 3);
  CHECK(value("logits_causal", 0, 0) == 2);
  CHECK(value("logits_centred", 0, 0) == 1);
  CHECK(value("sink_mass", 0, 1) == 0.95);
  ProbeResults dead = made_up();
  dead.probe.probes[0].last[0].jacobian_norm = 0;
  CHECK(std::isnan(norm_slope(dead, dead.probe.at(0, 0))));
  CHECK(probe_json(dead)["heads"][0]["measures"]["norm_slope"].dump() == "null");
}

TEST_CASE("a probe's JSON has everything") {
  const nlohmann::json json = nlohmann::json::parse(probe_json(made_up()).dump());
  CHECK(json["lengths"] == std::vector<int>{4, 16});
  CHECK(json["positions"] == std::vector<int>{2, 4, 8, 16});
  CHECK(json["spans"]["16"] == std::vector<int>{3});
  REQUIRE(json["heads"].size() == 4);
  const nlohmann::json& last = json["heads"][3];
  CHECK(last["layer"] == 1);
  CHECK(last["head"] == 1);
  CHECK(last["by_length"]["norm"] == std::vector<double>{0.25, 0.25});
  CHECK(last["by_length"]["logits_all"] == std::vector<double>{3, 3});
  CHECK(last["by_position"]["norm"].size() == 4);
  CHECK(last["singular_values"]["scores"] == values(8));
  for (const auto& measure : json["measures"]) CHECK(last["measures"].contains(measure["id"].get<std::string>()));
  CHECK(json["findings"].size() == 6);
}

TEST_CASE("a probe ends with a compression that is possible, or why none is") {
  ProbeResults r = made_up();
  CHECK(contains(probe_text(r), "headroom compress 'models/<b>&' --part qk --method whitened-relative --rank 4 "));
  CHECK(contains(probe_columns(r), "tokens: slope, of ln norm of softmax's Jacobian against ln L"));
  CHECK(contains(probe_text(r), "headroom compress 'models/<b>&' --remove layers --keep 0.9 --format plain"));
  r.family = "gemma";
  CHECK_FALSE(contains(probe_text(r), "--remove layers"));
  r.unsuited = "its heads are factored already";
  CHECK(contains(probe_text(r), "\nheadroom compress refuses this model: its heads are factored already.\n"));
  CHECK_FALSE(contains(probe_text(r), "--method"));
}

TEST_CASE("a probe's page is well-formed, fetches nothing, and holds the curves of every head") {
  const TemporaryFolder folder;
  const ProbeResults r = made_up();
  write_probe_page(folder / "deep/probe.html", r);
  const std::string page = read(folder / "deep/probe.html");
  CHECK(headroom::experiments::testing::malformed(page) == "");
  CHECK(contains(page, "A &lt;script&gt; &amp; &quot;name&quot;"));
  CHECK(contains(page, "<title>Heads of &lt;b&gt;&amp;</title>"));
  CHECK_FALSE(contains(page, "A <script>"));
  CHECK(contains(page, "default-src &#39;none&#39;"));
  const std::vector<ProbeFinding> findings = probe_findings(r);
  for (size_t i = 1; i < findings.size(); ++i) CHECK(contains(page, escape(findings[i].text)));
  // The advice comes first, then its bars, then the reasons.
  const size_t advice = page.find(escape(advice_of(r.savings))), bars = page.find("percent of today");
  REQUIRE(advice < bars);
  CHECK(bars < page.find(escape(reasons_of(r.savings))));
  CHECK(contains(page, "title=\"layer 1, head 0: 6\""));
  const std::string begin = "<script type=\"application/json\" id=\"probe-data\">";
  const size_t at = page.find(begin) + begin.size();
  const nlohmann::json data = nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
  using headroom::experiments::testing::times;
  CHECK(times(page, "<template id=\"cell-") == 4);
  const std::string third = page.substr(page.find("<template id=\"cell-2\">"),
                                        page.find("<template id=\"cell-3\">") - page.find("<template id=\"cell-2\">"));
  CHECK(contains(third, "Layer 1, head 0"));
  CHECK(times(third, "<svg viewBox") == 6);
  CHECK(contains(third, "this head from 0.250 to 0.0625."));
  CHECK(data["heat"].size() == head_measures(r).size());
  for (const auto& heat : data["heat"]) CHECK(heat["shades"].size() == 4);
  CHECK(data["heat"][0]["texts"] == std::vector<std::string>{"2", "3", "6", "8"});
  CHECK(data["heat"][0]["shades"] == std::vector<int>{6, 22, 69, 100});  // 2 to 8, from 6 % of the colour on
}

TEST_CASE("the program: a table, JSON, and a page") {
  const TemporaryFolder folder;
  Program table(folder.path(),
                fmt::format("probe '{}' --text '{}' --lengths 4:16 --spans 3 -o page.html", checkpoint(), text()));
  REQUIRE(table.wait() == 0);
  CHECK(table.err().empty());
  CHECK(contains(table.out(),
                 "smollm2 (llama): 2 layers of 3 heads of width 8, 1 key-value head\ntext.txt, 724 tokens; 3 "
                 "pieces of each of 4, 8, 16 tokens; text cut as gpt-2, with no token before it\n"));
  CHECK(contains(table.out(), "\nWhat these measures do not say:\n"));
  CHECK(contains(table.out(), "page  page.html\n"));
  CHECK(headroom::experiments::testing::malformed(read(folder / "page.html")) == "");
  const auto with_threads = [&](int threads) {
    return nlohmann::json::parse(
        output_of(folder.path(), fmt::format("probe '{}' --text '{}' --lengths 4:16 --spans 3 --json --threads {}",
                                             checkpoint(), text(), threads)));
  };
  nlohmann::json one = with_threads(1), three = with_threads(3);
  CHECK(one["heads"].size() == 6);
  CHECK(one["tokens"] == 724);
  // Equal bits with other threads.
  one.erase("seconds"), three.erase("seconds");
  CHECK(one == three);
}

TEST_CASE("an interrupted probe leaves nothing") {
  const TemporaryFolder folder;
  Program probe(folder.path(), fmt::format("probe '{}' --text '{}' --spans 10000 -o page.html", checkpoint(), text()));
  usleep(300000);
  const bool ran = probe.is_running();
  probe.signal(SIGINT);
  CHECK(probe.wait() == -SIGINT);
  CHECK(ran);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    CHECK((name == "out.txt" || name == "err.txt"));
  }
}
