// Several sequences decoded at once, against each of them alone.
#include <numeric>
#include <set>

#include "engine/context.h"
#include "models/generation/batch_generator.h"
#include "models/generation/generator.h"
#include "models/positions.h"
#include "models/tokenizers/load.h"
#include "tests/models/small_decoder.h"
#include "tests/support/error_of.h"

namespace headroom::models {
namespace {

using engine::BlockFormat;
using testing::contains;
using testing::error_of;

/// Heads of whole blocks, so that every type of cache can hold them.
TransformerConfig small(Positions positions, int64_t window = 0) {
  TransformerConfig c = decoder();
  c.groups = {{.heads = 2, .qk_dim = 32, .v_dim = 32, .kv_heads = 1}};
  c.vocab = 256, c.max_length = 300;
  c.positions = positions;
  c.window = window;
  if (window > 0) c.layers = 3, c.full_layers = {1};
  return c;
}

/// `count` tokens of a text.
std::vector<int32_t> text(int64_t count, int32_t step) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = (static_cast<int32_t>(i) * step + 3) % 256;
  return ids;
}

Tensor row_of(const std::vector<int32_t>& ids) {
  return Tensor::from({1, static_cast<int64_t>(ids.size())}, std::vector<int64_t>(ids.begin(), ids.end()));
}

ModelDescription described(const TransformerConfig& config, std::vector<int64_t> eos = {}) {
  ModelDescription description;
  description.config = config;
  description.context = config.max_length;
  description.eos = std::move(eos);
  return description;
}

/// Decodes three texts of different lengths together, then tokens of theirs, of one of them several at a time: the bits
/// of each text alone.
void check_rows(const TransformerConfig& config, std::optional<BlockFormat> format) {
  const Transformer model = build(config);
  std::vector<ModelCache> together, alone;
  for (const int64_t length : {5, 130, 70}) {
    for (std::vector<ModelCache>* states : {&together, &alone}) {
      states->emplace_back(config, true, format);
      logits_behind(model, text(length, 7), 0, states->back());
    }
  }
  for (int32_t step = 0; step < 9; ++step) {
    const std::vector<int32_t> more{step, 40, 41, 42, 200 - step};  // three of them the second text's
    const std::vector<SequenceRows> rows{{0, 1, &together[0]}, {1, 4, &together[1]}, {4, 5, &together[2]}};
    const Tensor y = model.decode_together(row_of(more), rows);  // (1, 5, V)
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::vector<int32_t> own(more.begin() + rows[i].begin, more.begin() + rows[i].end);
      CHECK(y.slice(1, rows[i].begin, rows[i].end).to_vector<float>() ==
            model.decode(row_of(own), alone[i]).to_vector<float>());
      CHECK(together[i].offset() == alone[i].offset());
    }
  }
}

}  // namespace

TEST_CASE("rows of several sequences have the bits of each alone", "[batch]") {
  const engine::ProductPathScope own(engine::ProductPath::own);  // adds in the same order whatever the number of rows
  for (const PositionScheme& scheme : position_schemes())
    for (const int64_t window : {0, 20})
      for (const std::optional<BlockFormat> format :
           {std::optional<BlockFormat>(), {BlockFormat::f16}, {BlockFormat::bf16}, {BlockFormat::q8_0}}) {
        INFO(scheme.name << ", window " << window << ", " << (format ? engine::traits_of(*format).name : "f32"));
        check_rows(small(scheme.positions, window), format);
      }
  TransformerConfig unequal = small(Positions::rope);
  unequal.groups = {{.heads = 1, .qk_dim = 32, .v_dim = 64}, {.heads = 2, .qk_dim = 64, .v_dim = 32, .kv_heads = 1}};
  unequal.qk_norm = true;
  check_rows(unequal, BlockFormat::q8_0);
}

TEST_CASE("a batch generates the texts that its prompts have alone", "[batch]") {
  const engine::ProductPathScope own(engine::ProductPath::own);
  const auto tokenizer = make_byte_tokenizer();
  const TransformerConfig config = small(Positions::rope, 24);
  const Transformer model = build(config);
  // The bytes that end a text come now and then, so that texts end at different times, and one at the context's end.
  std::vector<int64_t> ends(24);
  std::iota(ends.begin(), ends.end(), 100);
  const ModelDescription description = described(config, ends);
  std::vector<std::vector<int32_t>> prompts{text(280, 5), text(1, 1), text(6, 3)};
  while (prompts.size() < 11) prompts.push_back(text(40, 11));
  GenerationOptions options{.sampling = {.temperature = 1.5, .repetition_penalty = 1.1, .seed = 3}, .max_tokens = 30};
  for (const bool ignores : {false, true}) {
    options.ignore_eos = ignores;
    const BatchGeneration batch =
        BatchGenerator(model, *tokenizer, description, BlockFormat::f16).generate(prompts, options);
    CHECK(batch.prompt_tokens == 280 + 1 + 6 + 40);
    REQUIRE(batch.texts.size() == prompts.size());
    GenerationOptions alone = options;
    std::set<size_t> lengths;
    for (size_t i = 0; i < prompts.size(); ++i, ++alone.sampling.seed) {
      INFO("text " << i << (ignores ? ", no end tokens" : ""));
      const Generation one =
          Generator(model, *tokenizer, description, {}, BlockFormat::f16).generate(prompts[i], alone);
      CHECK(batch.texts[i].tokens == one.tokens);
      CHECK(batch.texts[i].text == one.text);
      CHECK(batch.texts[i].ending == one.ending);
      CHECK(batch.texts[i].prompt_tokens == one.prompt_tokens);
      lengths.insert(one.tokens.size());
    }
    CHECK(batch.texts[0].ending == (ignores ? Ending::context : batch.texts[0].ending));
    CHECK(lengths.size() > (ignores ? 1 : 4));
  }
  options.max_tokens = 0;
  CHECK(BatchGenerator(model, *tokenizer, description).generate(prompts, options).texts[2].tokens.empty());
}

TEST_CASE("a copied cache goes on by itself", "[batch]") {
  const TransformerConfig config = small(Positions::rope, 20);
  const Transformer model = build(config);
  ModelCache first(config);
  logits_behind(model, text(150, 7), 0, first);  // layers with a window have forgotten some
  ModelCache second = first.copy();
  const Tensor a = model.decode(row_of(text(4, 9)), first), b = model.decode(row_of(text(9, 5)), second);
  CHECK(first.offset() == 154);
  CHECK(second.offset() == 159);
  ModelCache anew(config);
  logits_behind(model, text(150, 7), 0, anew);
  CHECK(model.decode(row_of(text(9, 5)), anew).to_vector<float>() == b.to_vector<float>());
  CHECK(ModelCache(config).copy().offset() == 0);
}

TEST_CASE("sequences that do not fit are refused, and their states stay as they were", "[batch]") {
  const TransformerConfig config = small(Positions::learned);
  const Transformer model = build(config);
  ModelCache a(config), b(config);
  logits_behind(model, text(3, 7), 0, a);
  logits_behind(model, text(300, 7), 0, b);
  const Tensor two = row_of({1, 2});
  const auto refusal = [&](const Tensor& tokens, const std::vector<SequenceRows>& rows) {
    return error_of([&] { model.decode_together(tokens, rows); });
  };
  CHECK_THAT(refusal(two, {{0, 1, &a}, {1, 2, &a}}), contains("each sequence needs a state of its own"));
  CHECK_THAT(refusal(two, {{0, 1, &a}, {1, 2}}), contains("each sequence needs a state of its own"));
  CHECK_THAT(refusal(two, {{0, 1, &a}}), contains("one sequence's after the other's, got i64 (1, 2)"));
  CHECK_THAT(refusal(two, {{1, 2, &a}}), contains("rows [1, 2) behind a prefix of 0 do not follow 0 rows"));
  CHECK_THAT(refusal(two, {{0, 1, &a}, {1, 2, &b}}), contains("sequences of 301 are longer than max_length"));
  TransformerConfig deeper = config;
  deeper.layers = 3;
  ModelCache other(deeper);
  CHECK_THAT(refusal(two, {{0, 1, &a}, {1, 2, &other}}), contains("another config"));
  ModelCache packed(config, true, BlockFormat::f16);  // its second layer has keys of another width
  packed.layer(1)[0].append(Tensor::zeros({1, 0, 1, 64}), Tensor::zeros({1, 0, 1, 64}));
  CHECK_THAT(refusal(two, {{0, 1, &a}, {1, 2, &packed}}), contains("do not fit those held"));
  CHECK(a.offset() == 3);
  CHECK(a.layer(1)[0].length() == 3);
  CHECK(packed.offset() == 0);
}

}  // namespace headroom::models
