// `headroom answer`, asked as its clients ask it.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "engine/ops/log_softmax/log_softmax.h"
#include "models/checkpoints/model_files.h"
#include "models/generation/generator.h"
#include "tests/experiments/program/serve/http_client.h"
#include "tests/experiments/program_json.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::testing;
using Json = nlohmann::json;

namespace {

/// The program with the small model, for as long as this lives.
class Answering {
 public:
  explicit Answering(const std::string& arguments = small_model() + " --exact")
      : program_(folder_.path(), "answer --port 0 " + arguments) {
    while (program_.out().find("/v1\n") == std::string::npos && program_.is_running()) usleep(2000);
    const std::string address = program_.out();
    REQUIRE(address.starts_with("http://127.0.0.1:"));
    port_ = std::atoi(address.c_str() + 17);
  }
  ~Answering() {
    program_.signal(SIGINT);
    program_.wait();
  }
  int port() const { return port_; }
  Program& program() { return program_; }

  Reply ask(const std::string& path, const std::string& body) const {
    return request(port_, "POST", path, "Content-Type: application/json\r\n", body);
  }
  Json complete(const Json& body) const {
    const Reply reply = ask("/v1/completions", body.dump());
    INFO(reply.body);
    REQUIRE(reply.status == 200);
    return Json::parse(reply.body);
  }
  /// What its streams sends: the events' data, the last of which is [DONE].
  std::vector<std::string> stream(const std::string& path, const Json& body) const {
    const std::string all = ask(path, body.dump()).body;
    std::vector<std::string> events;
    for (size_t at = all.find("data: "); at != std::string::npos; at = all.find("data: ", at + 1))
      events.push_back(all.substr(at + 6, all.find("\n\n", at) - at - 6));
    return events;
  }

 private:
  TemporaryFolder folder_;
  Program program_;
  int port_ = 0;
};

/// The small model in this process.
struct SmallModel {
  std::unique_ptr<models::ModelFiles> files = models::ModelFiles::open(checkpoints() / "smollm2");
  std::unique_ptr<models::Tokenizer> tokenizer = files->tokenizer();
  std::unique_ptr<models::Transformer> transformer = files->load();

  /// Log-probabilities (T, V) of what follows each token, from one forward pass.
  engine::Tensor log_p(const std::vector<int32_t>& ids) const {
    const std::vector<int64_t> wide(ids.begin(), ids.end());
    const engine::Tensor tokens = engine::Tensor::from({1, std::ssize(wide)}, wide);  // (1, T)
    return engine::log_softmax(transformer->forward(tokens).value().to(engine::DType::f64))
        .reshape({std::ssize(wide), transformer->config().vocab});
  }
};

const std::vector<int32_t> ids{5, 9, 2, 30, 7, 7, 31};

}  // namespace

TEST_CASE("an echoed prompt has the log-probabilities of a forward pass", "[answer]") {
  const Answering server;
  const SmallModel small;
  const Json out = server.complete({{"prompt", ids}, {"echo", true}, {"logprobs", 3}, {"max_tokens", 0}});
  const Json& choice = out["choices"][0];
  const engine::Tensor expected = small.log_p(ids);
  const double* const rows = expected.data<double>();
  const int64_t vocab = expected.dim(1);
  REQUIRE(choice["logprobs"]["token_logprobs"].size() == ids.size());
  CHECK(choice["logprobs"]["token_logprobs"][0].is_null());
  CHECK(choice["logprobs"]["top_logprobs"][0].is_null());
  for (size_t i = 1; i < ids.size(); ++i) {
    const double* const row = rows + static_cast<int64_t>(i - 1) * vocab;
    CHECK(choice["logprobs"]["token_logprobs"][i].get<double>() == Approx(row[ids[i]]).margin(1e-5));
    double most = -1e9;
    for (const auto& [token, p] : choice["logprobs"]["top_logprobs"][i].items()) most = std::max(most, p.get<double>());
    CHECK(most == Approx(*std::max_element(row, row + vocab)).margin(1e-5));
  }
  CHECK(choice["text"] == small.tokenizer->decode(ids));
  CHECK(choice["finish_reason"] == "length");
  CHECK(out["usage"] == Json{{"prompt_tokens", 7}, {"completion_tokens", 0}, {"total_tokens", 7}});
  const Json& offsets = choice["logprobs"]["text_offset"];
  CHECK(offsets[0] == 0);
  CHECK(std::is_sorted(offsets.begin(), offsets.end()));
}

TEST_CASE("a continuation is that of generate, with the model's own log-probabilities", "[answer]") {
  const Answering server;
  const SmallModel small;
  const Json out = server.complete({{"prompt", ids},
                                    {"temperature", 1.5},
                                    {"top_k", 20},
                                    {"seed", 11},
                                    {"max_tokens", 9},
                                    {"logprobs", 0},
                                    {"n", 2}});
  models::Generator generator(*small.transformer, *small.tokenizer, small.files->description());
  for (uint64_t copy = 0; copy < 2; ++copy) {
    models::GenerationOptions options{.max_tokens = 9};
    options.sampling = {.temperature = 1.5, .top_k = 20, .seed = 11 + copy};
    const models::Generation alone = generator.generate(ids, options);
    const Json& choice = out["choices"][copy];
    CHECK(choice["text"] == alone.text);
    std::vector<int32_t> all = ids;
    all.insert(all.end(), alone.tokens.begin(), alone.tokens.end());
    const engine::Tensor expected = small.log_p(all);
    const Json& scores = choice["logprobs"]["token_logprobs"];
    REQUIRE(scores.size() == alone.tokens.size());
    for (size_t i = 0; i < scores.size(); ++i)
      CHECK(
          scores[i].get<double>() ==
          Approx(expected.data<double>()[static_cast<int64_t>(ids.size() + i - 1) * expected.dim(1) + alone.tokens[i]])
              .margin(1e-4));
  }
  CHECK(out["seed"] == 11);
}

TEST_CASE("an answer's bits do not depend on what else is asked, in f32 or in 16 bits", "[answer]") {
  const TemporaryFolder folder;
  const std::string halves = "'" + (folder.path() / "halves").string() + "'";
  Program converting(folder.path(), fmt::format("convert {} --dtype f16 -o {}", small_model(), halves));
  REQUIRE(converting.wait() == 0);
  for (const std::string& model : {small_model(), halves}) {
    INFO(model);
    const Answering server(model);
    const auto choices = [&](const Json& prompts) {
      return server.complete(
          {{"prompt", prompts}, {"echo", true}, {"logprobs", 2}, {"max_tokens", 6}, {"temperature", 0}})["choices"];
    };
    const std::vector<std::vector<int32_t>> prompts{ids,    {1, 2, 3}, {30, 31}, {8},     {9, 9, 9, 9},
                                                    {3, 1}, {7, 6},    {2},      {16, 5}, {4}};
    const Json together = choices(prompts);
    std::vector<std::thread> clients;
    std::vector<Json> alone(prompts.size());
    for (size_t i = 0; i < prompts.size(); ++i)
      clients.emplace_back([&, i] {
        const Json body = {
            {"prompt", prompts[i]}, {"echo", true}, {"logprobs", 2}, {"max_tokens", 6}, {"temperature", 0}};
        alone[i] = Json::parse(server.ask("/v1/completions", body.dump()).body, nullptr, false)["choices"][0];
      });
    for (std::thread& client : clients) client.join();
    for (size_t i = 0; i < prompts.size(); ++i) {
      alone[i]["index"] = i;
      CHECK(alone[i].dump() == together[i].dump());
      CHECK(choices({prompts[i]})[0]["logprobs"].dump() == together[i]["logprobs"].dump());
    }
  }
}

TEST_CASE("streams bring the parts of the whole answer", "[answer]") {
  const Answering server;
  Json body = {{"prompt", {"the text", "a"}},
               {"temperature", 1},
               {"seed", 3},
               {"max_tokens", 12},
               {"logprobs", 1},
               {"echo", true}};
  const Json all = server.complete(body), &whole = all["choices"];
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  const std::vector<std::string> events = server.stream("/v1/completions", body);
  REQUIRE(events.size() > 2);
  CHECK(events.back() == "[DONE]");
  CHECK(Json::parse(events[events.size() - 2])["usage"] == all["usage"]);
  for (int i = 0; i < 2; ++i) {
    std::string text;
    Json tokens = Json::array(), scores = Json::array(), offsets = Json::array(), reason;
    for (size_t e = 0; e + 2 < events.size(); ++e) {
      const Json event = Json::parse(events[e])["choices"][0];
      if (event["index"] != i) continue;
      text += event["text"].get<std::string>();
      reason = event["finish_reason"];
      for (const auto& [from, to] :
           {std::pair("tokens", &tokens), {"token_logprobs", &scores}, {"text_offset", &offsets}})
        for (const Json& one : event["logprobs"][from]) to->push_back(one);
    }
    const Json& own = whole[static_cast<size_t>(i)];
    CHECK(text == own["text"]);
    CHECK(reason == own["finish_reason"]);
    CHECK(tokens == own["logprobs"]["tokens"]);
    CHECK(scores == own["logprobs"]["token_logprobs"]);
    CHECK(offsets == own["logprobs"]["text_offset"]);
  }
}

TEST_CASE("a stop string ends an answer before it", "[answer]") {
  const Answering server;
  const Json body = {{"prompt", ids}, {"temperature", 0}, {"max_tokens", 20}};
  const std::string text = server.complete(body)["choices"][0]["text"];
  REQUIRE(text.size() > 3);
  Json stopped = body;
  stopped["stop"] = {text.substr(2, 1), "never said"};
  const Json choice = server.complete(stopped)["choices"][0];
  CHECK(choice["text"] == text.substr(0, text.find(text[2])));
  CHECK(choice["finish_reason"] == "stop");
}

TEST_CASE("requests that are wrong are refused in the protocol's form", "[answer]") {
  const Answering server;
  const auto refused = [&](const std::string& path, const std::string& body, int status, const std::string& param,
                           const std::string& words) {
    const Reply reply = server.ask(path, body);
    INFO(body << "\n" << reply.body);
    CHECK(reply.status == status);
    const Json error = Json::parse(reply.body, nullptr, false)["error"];
    CHECK(error["code"] == status);
    CHECK(error["param"] == (param.empty() ? Json() : Json(param)));
    CHECK_THAT(error["message"].get<std::string>(), contains(words));
  };
  const std::string text = "/v1/completions", chat = "/v1/chat/completions";
  refused(text, "{", 400, "", "the body: is not JSON");
  refused(text, "[]", 400, "", "expected an object");
  refused(text, "{}", 400, "prompt", "prompt is missing");
  refused(text, R"({"prompt": 3})", 400, "prompt", "expected a text");
  refused(text, R"({"prompt": []})", 400, "prompt", "expected a text");
  refused(text, R"({"prompt": [[]]})", 400, "", "the prompt is empty");
  refused(text, R"({"prompt": [1, "a"]})", 400, "prompt", "is no token id");
  refused(text, R"({"prompt": ["a", 1]})", 400, "prompt", "is no text");
  refused(text, R"({"prompt": [1, 1e9]})", 400, "prompt", "is no token id");
  refused(text, R"({"prompt": [100000]})", 400, "", "not in the model's vocabulary");
  refused(text, R"({"prompt": [100000], "max_tokens": 0})", 400, "", "outside the model's vocabulary");
  refused(text, R"({"prompt": "a", "max_tokens": -1})", 400, "max_tokens", "from 0 to");
  refused(text, R"({"prompt": "a", "max_tokens": 1.5})", 400, "max_tokens", "a whole number");
  refused(text, R"({"prompt": "a", "max_tokens": 18446744073709551615})", 400, "max_tokens", "a whole number");
  refused(text, R"({"prompt": "a", "temperature": -1})", 400, "temperature", "from 0 to 100");
  refused(text, R"({"prompt": "a", "top_p": 0})", 400, "top_p", "expected a number");
  refused(text, R"({"prompt": "a", "logprobs": 21})", 400, "logprobs", "from 0 to 20");
  refused(text, R"({"prompt": "a", "logprobs": true})", 400, "logprobs", "whole number");
  refused(text, R"({"prompt": "a", "stop": [""]})", 400, "stop", "none of them empty");
  refused(text, R"({"prompt": "a", "n": 129})", 400, "n", "from 1 to 128");
  refused(text, R"({"prompt": "a", "best_of": 2})", 400, "best_of", "not supported");
  refused(text, R"({"prompt": "a", "logit_bias": {"5": 1}})", 400, "logit_bias", "not supported");
  refused(text, R"({"prompt": "a", "max_token": 3})", 400, "max_token", "not a key");
  refused(text, R"({"prompt": "a", "stream_options": {"x": 1}})", 400, "stream_options.x", "not a key");
  refused(text, R"({"prompt": ")" + std::string(40000, 'a') + "\"}", 400, "prompt", "context");
  refused(chat, R"({"messages": [{"role": "user", "content": "a"}]})", 400, "messages", "template");
  refused(chat, R"({"messages": [{"role": "user", "content": "a"}], "chat_template_kwargs": 3})", 400,
          "chat_template_kwargs", "expected an object");
  refused(chat, R"({"messages": []})", 400, "messages", "expected a list");
  refused(chat, R"({"messages": [{"role": "assistant", "content": "a"}]})", 400, "messages", "user's");
  refused(chat, R"({"messages": [{"role": "user", "content": 3}]})", 400, "messages", "expected a text");
  refused(chat, R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", 400, "messages.content.type",
          "not supported");
  refused("/v1/other", "{}", 404, "", "/v1/completions");
  CHECK(get(server.port(), text).status == 405);
  CHECK(get(server.port(), "/health").body == R"({"status": "ok"})");
  CHECK(Json::parse(get(server.port(), "/v1/models").body)["data"][0]["object"] == "model");
}

TEST_CASE("pages of other servers get nothing", "[answer]") {
  const Answering server;
  const auto status = [&](const std::string& headers) {
    return request(server.port(), "POST", "/v1/completions", headers, R"({"prompt": "a", "max_tokens": 1})").status;
  };
  const std::string json = "Content-Type: application/json\r\n";
  CHECK(status(json) == 200);
  CHECK(status("Content-Type: text/plain\r\n") == 415);
  CHECK(status("") == 415);
  CHECK(status(json + "Origin: http://evil.example\r\n") == 403);
  CHECK(status(json + "Host: evil.example\r\n") == 403);
  CHECK(request(server.port(), "OPTIONS", "/v1/completions").status == 405);
}

TEST_CASE("texts whose client has left are given up, and Ctrl-C ends the rest", "[answer]") {
  Answering server(small_model() + " --exact --parallel 1");
  // The small model's context lets each run long; a hundred of them would keep the one place for minutes.
  const std::string body = R"({"prompt": "a", "max_tokens": 100000, "n": 100, "temperature": 5})";
  const std::string post = fmt::format(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "{}\r\n\r\n{}",
      body.size(), body);
  for (int i = 0; i < 3; ++i) {
    Connection leaving(server.port());
    leaving.send(post);
    usleep(50000);
  }
  CHECK(server.complete({{"prompt", "a"}, {"max_tokens", 1}})["choices"].size() == 1);
  Connection waiting(server.port());
  waiting.send(post);
  usleep(50000);
  server.program().signal(SIGINT);
  CHECK(server.program().wait() == 0);
}
