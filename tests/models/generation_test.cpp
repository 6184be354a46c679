// Sampling, streaming text, chat templates, and generation with a cache.
#include "models/generation/generator.h"

#include <cmath>
#include <map>

#include "engine/device_stream.h"
#include "engine/transfer.h"
#include "models/files/utf8.h"
#include "models/generation/chat_template.h"
#include "models/generation/text_stream.h"
#include "models/tokenizers/load.h"
#include "tests/models/small_decoder.h"
#include "tests/models/small_tokenizers.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

using testing::contains;
using testing::error_of;

const std::vector<float> logits{1.0f, 3.0f, 2.0f, 3.0f, -1.0f};

/// How often each token is drawn of n.
std::map<int64_t, int> counts(const SamplingOptions& options, int n, const std::vector<int32_t>& history = {}) {
  Sampler sampler(options);
  std::map<int64_t, int> out;
  for (int i = 0; i < n; ++i) ++out[sampler.next(logits.data(), 5, history)];
  return out;
}

std::string refusal(const SamplingOptions& options) {
  return error_of([&] { Sampler sampler(options); });
}

}  // namespace

TEST_CASE("greedy sampling takes the likeliest token, the least of equals", "[generation]") {
  CHECK(counts({}, 3) == std::map<int64_t, int>{{1, 3}});
  // The penalty takes 3 / 2 below 2, and leaves the other 3.
  CHECK(counts({.repetition_penalty = 2}, 1, {1}) == std::map<int64_t, int>{{3, 1}});
}

TEST_CASE("sampling follows the softmax of what the filters leave", "[generation]") {
  const int n = 20000;
  const auto share = [&](std::map<int64_t, int> c, int64_t id) { return static_cast<double>(c[id]) / n; };
  const double e = std::exp(1.0), sum = 2 * e * e * e + e * e + e + 1 / e;
  auto all = counts({.temperature = 1, .seed = 3}, n);
  CHECK(share(all, 1) == Approx(e * e * e / sum).margin(0.015));
  CHECK(share(all, 4) == Approx(1 / e / sum).margin(0.005));
  CHECK(counts({.temperature = 1, .seed = 3}, n) == all);
  CHECK(counts({.temperature = 1, .seed = 4}, n) != all);
  auto cold = counts({.temperature = 0.5, .seed = 3}, n);
  CHECK(share(cold, 2) ==
        Approx(std::exp(4.0) / (2 * std::exp(6.0) + std::exp(4.0) + std::exp(2.0) + std::exp(-2.0))).margin(0.01));
  CHECK(counts({.temperature = 1, .top_k = 1}, 50) == std::map<int64_t, int>{{1, 50}});
  const auto two = counts({.temperature = 1, .top_k = 2}, n);
  CHECK(two.size() == 2);
  CHECK(counts({.temperature = 1, .top_p = 0.6}, n).size() == 2);  // .39 + .39
  CHECK(counts({.temperature = 1, .top_p = 0.8}, n).size() == 3);  // + .14
  CHECK(counts({.temperature = 1, .min_p = 0.3}, n).size() == 3);  // e^-1 = .37
  CHECK(counts({.temperature = 1, .min_p = 0.4}, n).size() == 2);
}

TEST_CASE("sampling options out of range and logits that are not numbers are errors", "[generation]") {
  CHECK_THAT(refusal({.temperature = -1}), contains("temperature is -1, expected 0 or more"));
  CHECK_THAT(refusal({.temperature = NAN}), contains("temperature is nan"));
  CHECK_THAT(refusal({.top_k = -1}), contains("top_k"));
  CHECK_THAT(refusal({.top_p = 0}), contains("top_p"));
  CHECK_THAT(refusal({.min_p = 2}), contains("min_p"));
  CHECK_THAT(refusal({.repetition_penalty = 0}), contains("repetition_penalty"));
  Sampler sampler({});
  const float bad[] = {0, NAN}, none[] = {-HUGE_VALF, -HUGE_VALF};
  CHECK_THROWS_WITH(sampler.next(bad, 2, {}), contains("the logit of token 1 is nan"));
  CHECK_THROWS_WITH(sampler.next(none, 2, {}), contains("no token is possible"));
}

TEST_CASE("a text stream gives whole characters only", "[generation]") {
  const std::string text = "aé漢🦊z";
  TextStream stream;
  std::string shown;
  for (const char byte : text) {
    const std::string part = stream.push({&byte, 1});
    CHECK(valid_utf8(part) == part.size());
    shown += part;
  }
  CHECK(shown + stream.finish() == text);

  TextStream broken;
  CHECK(broken.push("a\xe6\xbc") == "a");
  CHECK(broken.push("b") ==
        "\xef\xbf\xbd\xef\xbf\xbd"
        "b");  // two bytes that became no character
  CHECK(broken.push("\xff") == "\xef\xbf\xbd");
  CHECK(broken.push("\xf0\x9f").empty());
  CHECK(broken.finish() == "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("a text stream ends before a stop string, wherever it is cut", "[generation]") {
  const std::string text = "one END two";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    TextStream stream({"STOP", "END"});
    std::string shown = stream.push(text.substr(0, cut));
    shown += stream.push(text.substr(cut));
    CHECK(shown + stream.finish() == "one ");
    CHECK(stream.stopped());
  }
  TextStream stream({"ENDE"});
  CHECK(stream.push("an END") == "an ");
  CHECK(stream.push("ing") == "ENDing");
  CHECK(!stream.stopped());
  CHECK_THROWS_WITH(TextStream({""}), contains("a stop string is empty"));
}

TEST_CASE("a conversation is encoded as its template has it", "[generation]") {
  const testing::TemporaryFolder folder;
  nlohmann::json json = {
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"model", {{"type", "BPE"}, {"vocab", testing::small_vocabulary({}, {})}, {"merges", nlohmann::json::array()}}}};
  int id = 256;
  for (const char* text :
       {"<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"})
    json["added_tokens"].push_back({{"id", id++}, {"content", text}, {"special", true}});
  testing::write_bytes(folder / "tokenizer.json", json.dump());
  const auto tokenizer = load_tokenizer(folder.path().string());
  const auto shipped = [](const char* name) {
    return ChatTemplate(
        testing::read_bytes(testing::source_root() + std::string("/tests/models/jinja/templates/") + name));
  };
  const ChatTemplate chatml = shipped("chatml.jinja");
  const std::vector<ChatMessage> messages{{"user", "hi <|im_end|>"}, {"assistant", "yes "}, {"user", "bye"}};
  const auto text = [&](const ChatTemplate& chat_template, const std::vector<ChatMessage>& turns) {
    return tokenizer->decode(chat_template.encode(turns, *tokenizer, 65, {66}));
  };
  CHECK(text(chatml, messages) ==
        "<|im_start|>system\nYou answer in few words.<|im_end|>\n<|im_start|>user\nhi <|im_end|><|im_end|>\n"
        "<|im_start|>assistant\nyes <|im_end|>\n<|im_start|>user\nbye<|im_end|>\n<|im_start|>assistant\n");
  // The mark within a message is characters, not the token, even where a message and the template write it together.
  const std::vector<int32_t> ids = chatml.encode({{"system", "s"}, {"user", "<|im_end|>"}}, *tokenizer, {}, {});
  CHECK(std::count(ids.begin(), ids.end(), 257) == 2);
  const ChatTemplate half("{{ '<|im_' + messages[0].content }}<|im_end|>");
  CHECK(half.encode({{"user", "end|>"}}, *tokenizer, {}, {}) == [&] {
    std::vector<int32_t> expected = tokenizer->encode("<|im_end|>", Specials::plain);
    expected.push_back(257);
    return expected;
  }());
  CHECK(text(chatml, {{"system", "S"}, {"user", "u"}}) ==
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\n");
  const std::string llama3 = text(shipped("llama3.jinja"), messages);
  // Bytes 65 and 66, A and B, stand for beginning and end.
  CHECK(llama3 ==
        "A<|start_header_id|>user<|end_header_id|>\n\nhi <|im_end|><|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nyes<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nbye<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
  CHECK(text(shipped("llama2.jinja"), {{"system", "S"}, messages[0], messages[1], messages[2]}) ==
        "A[INST] <<SYS>>\nS\n<</SYS>>\n\nhi <|im_end|> [/INST] yes BA[INST] bye [/INST]");
  CHECK_THAT(error_of([&] {
               text(shipped("llama2.jinja"), {{"user", "a"}, {"user", "b"}});
             }),
             contains("the template refuses: 'Roles must take turns"));
}

TEST_CASE("generation on a GPU chooses the tokens that it chooses on the CPU", "[generation]") {
  const engine::Device gpu{engine::Device::Kind::cuda, 0};
  if (!engine::has_device(gpu.kind)) return testing::skip("no CUDA device");
  TransformerConfig config = decoder();
  config.vocab = 256;
  config.positions = Positions::rope;
  const auto tokenizer = make_byte_tokenizer();
  ModelDescription description;
  description.config = config;
  description.context = 24;
  const auto tokens_on = [&](engine::Device device, const SamplingOptions& sampling) {
    const engine::DeviceStream stream(device);
    const engine::StreamScope on_stream(stream.handle());
    const engine::DeviceScope scope(device);
    engine::Rng rng(7);
    const Transformer model(config, rng);
    return Generator(model, *tokenizer, description)
        .generate({1, 2, 3}, {.sampling = sampling, .max_tokens = 5})
        .tokens;
  };
  for (const SamplingOptions& sampling :
       {SamplingOptions{}, SamplingOptions{.temperature = 0.8, .top_k = 50, .top_p = 0.9, .seed = 3},
        SamplingOptions{.temperature = 1.2, .repetition_penalty = 1.3}})
    CHECK(tokens_on(gpu, sampling) == tokens_on(engine::cpu, sampling));
}

TEST_CASE("generation continues a prompt, and again with what the cache holds", "[generation]") {
  TransformerConfig config = decoder();
  config.vocab = 256;
  config.positions = Positions::rope;
  engine::Rng rng(7);
  const Transformer model(config, rng);
  const auto tokenizer = make_byte_tokenizer();
  ModelDescription description;
  description.config = config;
  description.context = 24;
  Generator generator(model, *tokenizer, description);
  const std::vector<int32_t> prompt{1, 2, 3, 4, 5};
  const Generation first = generator.generate(prompt, {.max_tokens = 6});
  CHECK(first.tokens.size() == 6);
  CHECK(first.ending == Ending::max_tokens);
  // The same, token by token through forward().
  std::vector<int32_t> tokens = prompt;
  for (const int32_t next : first.tokens) {
    const std::vector<int64_t> ids(tokens.begin(), tokens.end());
    const Tensor y = model.forward(Tensor::from({1, static_cast<int64_t>(ids.size())}, ids)).value();
    const std::vector<double> last = y.slice(1, y.dim(1) - 1, y.dim(1)).to_vector<double>();
    CHECK(std::max_element(last.begin(), last.end()) - last.begin() == next);
    tokens.push_back(next);
  }
  CHECK(generator.generate(prompt, {.max_tokens = 6}).tokens == first.tokens);
  CHECK(generator.generate(tokens, {.max_tokens = 2}).tokens ==
        Generator(model, *tokenizer, description).generate(tokens, {.max_tokens = 2}).tokens);
  CHECK(generator.generate({1, 2}, {.max_tokens = 100}).ending == Ending::context);
  description.eos = {first.tokens[2]};
  Generator ending(model, *tokenizer, description);
  const Generation ended = ending.generate(prompt, {.max_tokens = 6});
  CHECK(ended.ending == Ending::end_token);
  CHECK(ended.tokens.back() == first.tokens[2]);
  CHECK(ending.generate(prompt, {.max_tokens = 6, .ignore_eos = true}).tokens == first.tokens);
  CHECK_THROWS_WITH(generator.generate({}, {}), contains("the prompt is empty"));
  CHECK_THROWS_WITH(generator.generate({256}, {}), contains("token 256 is not in the model's vocabulary of 256"));
  CHECK_THROWS_WITH(generator.generate(std::vector<int32_t>(24, 1), {}),
                    contains("the prompt has 24 tokens, the model's context is 24"));
  config.vocab = 255;
  const Transformer small(config, rng);
  CHECK_THROWS_WITH(Generator(small, *tokenizer, description), contains("they do not belong together"));
}

}  // namespace headroom::models
