#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/output/file.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/progress_line.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/tools/probe/probe_output.h"
#include "models/files/mapped_file.h"
#include "models/positions.h"
#include "models/write/convert.h"
#include "tasks/compression/plan.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {
namespace {

using models::ModelDescription;

constexpr int64_t longest_default = 1024, most_lengths = 64;

struct ProbeArguments {
  ModelArguments model;
  std::string text, lengths, spans_file, energies = "0.9,0.99", page;
  int64_t spans = 10, seed = 0, max_tokens = 0;
  bool json = false, force = false;
};

/// first, 2·first, … up to last.
std::vector<int64_t> doubling(int64_t first, int64_t last) {
  std::vector<int64_t> lengths;
  for (int64_t length = first; length <= last; length *= 2) {
    lengths.push_back(length);
    if (length > last / 2) break;  // before it overflows
  }
  return lengths;
}

/// "FROM:TO", doubling, or a list; rising.
std::vector<int64_t> lengths_of(const std::string& text) {
  const char* const wanted = "a number of tokens, as in 4,8,16 or FROM:TO";
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    std::vector<int64_t> lengths = numbers_of<int64_t>(text, "--lengths", wanted);
    std::sort(lengths.begin(), lengths.end());
    return lengths;
  }
  const int64_t first = numbers_of<int64_t>(text.substr(0, colon), "--lengths", wanted).at(0),
                last = numbers_of<int64_t>(text.substr(colon + 1), "--lengths", wanted).at(0);
  require(first >= 2 && first <= last, "--lengths: {}:{} needs 2 <= FROM <= TO", first, last);
  return doubling(first, last);
}

/// {"LENGTH": [start, …], …}, token offsets into the text.
std::vector<tasks::ProbeSpans> read_spans(const std::string& path) {
  const models::MappedFile file(path);
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(file.text());
  } catch (const nlohmann::json::exception& error) {
    fail("{}: {}", path, plain_words(error.what()));
  }
  require(json.is_object() && !json.empty(), "{}: expected an object: {{\"LENGTH\": [first token, ...], ...}}", path);
  const auto is_place = [](const nlohmann::json& x) {
    return x.is_number_unsigned() && x.get<uint64_t>() <= std::numeric_limits<int64_t>::max();
  };
  std::vector<tasks::ProbeSpans> spans;
  for (const auto& [key, starts] : json.items()) {
    const int64_t length = numbers_of<int64_t>(key, path, "a length in tokens").at(0);
    require(starts.is_array() && std::all_of(starts.begin(), starts.end(), is_place),
            "{}: {}: expected a list of first tokens, counted from 0", path, length);
    spans.push_back({length, starts.template get<std::vector<int64_t>>()});
  }
  return spans;
}

std::vector<double> energies_of(const std::string& text) {
  const auto numbers = numbers_of<double>(text, "--energies", "a share of the energy: expected 0.9,0.99");
  for (const double energy : numbers)
    require(energy > 0 && energy < 1, "--energies: {} is not between 0 and 1", energy);
  const std::set<double> rising(numbers.begin(), numbers.end());
  return {rising.begin(), rising.end()};
}

/// The requested pieces, without starts if they are to be drawn. Positions beyond the model's context were not trained,
/// yet most models compute them without complaint.
std::vector<tasks::ProbeSpans> spans_of(const ProbeArguments& arguments, bool has_lengths, int64_t context) {
  std::vector<tasks::ProbeSpans> spans;
  if (!arguments.spans_file.empty()) {
    spans = read_spans(arguments.spans_file);
  } else {
    for (const int64_t length :
         has_lengths ? lengths_of(arguments.lengths) : doubling(4, std::min(longest_default, context)))
      spans.push_back({length, {}});
  }
  require(static_cast<int64_t>(spans.size()) <= most_lengths, "probe: {} lengths; expected at most {}", spans.size(),
          most_lengths);
  for (const tasks::ProbeSpans& own : spans)
    require(own.length <= context, "probe: a length of {} is beyond the model's context of {}", own.length, context);
  return spans;
}

/// Chooses the compression method to suggest: of those that suit the model, the one that preserves it best
/// (docs/shrink-a-model.md).
void choose_method(const models::TransformerConfig& config, ProbeResults& results) {
  using tasks::QkMethod;
  for (const QkMethod method : {QkMethod::whitened_relative, QkMethod::whitened_rotated, QkMethod::whitened}) {
    results.unsuited = tasks::unsuited_because(method, config);
    results.method = tasks::name_of(method);
    if (results.unsuited.empty()) return;
  }
}

void probe(ProbeArguments& arguments, bool has_lengths) {
  arguments.model.exact = true;  // measures the model's own activations, not rounded ones
  const ModelScope scope(arguments.model);
  ProbeResults results;
  results.model = arguments.model.path;
  results.text = arguments.text;
  results.energies = energies_of(arguments.energies);
  require(arguments.max_tokens >= 0, "--max-tokens: {} is below 0", arguments.max_tokens);
  require(arguments.spans >= 1 && arguments.spans <= 10000, "--spans: {} is not between 1 and 10000", arguments.spans);
  if (!arguments.page.empty()) check_file(arguments.page, true);
  const auto files = models::ModelFiles::open(arguments.model.path);
  const ModelDescription& description = files->description();
  tasks::require_probed(description.config);
  const int64_t context = description.context;
  std::vector<tasks::ProbeSpans> spans = spans_of(arguments, has_lengths, context);
  const auto tokenizer = files->tokenizer();
  std::vector<int32_t> tokens = tasks::tokens_of_file(arguments.text, *tokenizer);
  if (arguments.max_tokens > 0 && static_cast<int64_t>(tokens.size()) > arguments.max_tokens)
    tokens.resize(static_cast<size_t>(arguments.max_tokens));
  results.tokens = static_cast<int64_t>(tokens.size());
  if (arguments.spans_file.empty()) {
    std::vector<int64_t> lengths;
    for (const tasks::ProbeSpans& own : spans) lengths.push_back(own.length);
    spans = tasks::draw_spans(lengths, arguments.spans, results.tokens, static_cast<uint64_t>(arguments.seed));
  }
  results.name = description.name;
  results.savings = possible_savings(description.config, models::model_bytes(arguments.model.path));
  results.family = description.family;
  for (const models::HeadGroup& group : models::first_layer(description.config).groups)
    results.kv_heads += group.key_value_heads();
  models::for_each_layer(description.config, [&](const models::LayerConfig& layer, int64_t) {
    for (const models::HeadGroup& group : layer.groups) {
      results.head_dim = std::max(results.head_dim, group.qk_dim);
      results.least_head_dim = std::min(results.least_head_dim, group.qk_dim);
    }
  });
  results.cut = tasks::text_cut(description, *tokenizer);
  results.rotary = models::scheme_of(description.config).turns();
  choose_method(description.config, results);
  const auto model = arguments.model.load(*files);
  const auto start = std::chrono::steady_clock::now();
  {
    ProgressLine line;
    results.probe = tasks::probe_model(
        *model, tokens, std::move(spans), results.cut.begin, [&](const tasks::ModelProbeProgress& at) {
          const double share = (static_cast<double>(at.layers_done) + at.share) / static_cast<double>(at.layers);
          line.show(fmt::format("layer {} of {}  {:.0f} %", at.layers_done + 1, at.layers, 100 * share), share);
        });
  }
  results.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!arguments.page.empty()) write_probe_page(arguments.page, results);
  if (arguments.json) {
    print_json(probe_json(results));
    return;
  }
  print_text("{}", probe_text(results));
  if (!arguments.page.empty()) print_text("page  {}\n", arguments.page);
}

}  // namespace

void add_probe_command(Command app) {
  const Command command = app.command("probe", "measure a trained model's heads: where they have width to spare");
  const auto a = std::make_shared<ProbeArguments>();
  add_model_options(command, a->model);
  const Command measured = command.under("What is measured"), output = command.under("Output");
  add_text_options(measured, a->text, a->max_tokens).required();
  const Option lengths =
      measured.option("--lengths L,…", a->lengths, "tokens of a piece: 4,8,16 or FROM:TO, doubling (default: 4:1024)");
  const Option spans = measured.option("--spans N", a->spans, "pieces of each length, drawn from the text");
  const Option seed = measured.option("--seed", a->seed, "of the draw").show_default();
  measured.option("--spans-file FILE", a->spans_file, "the pieces instead: {\"LENGTH\": [first token, …], …}")
      .excludes(lengths)
      .excludes(spans)
      .excludes(seed);
  measured.option("--energies E,…", a->energies, "of effective ranks: shares of the sum of squared singular values");
  output.flag("--json", a->json, "everything as one JSON object");
  output.option("-o,--html FILE", a->page, "also write a page: heat maps of layers and heads, each head's curves")
      .output();
  output.flag("--force", a->force, "replace the page that is there");
  command.action([a, lengths] { probe(*a, lengths.is_given()); });
}

}  // namespace headroom::experiments
