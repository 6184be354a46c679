// Hugging Face's tokenizer.json, and what is said of wrong tokenizer files.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "models/tokenizers/added_tokens.h"
#include "models/tokenizers/load.h"
#include "tests/models/small_tokenizers.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<int32_t>;
using namespace testing;

/// A tokenizer.json with the merges l+o, lo+w and Ġ+low (ids 256 to 258), and "xyz" (259), which nothing merges into.
Json small_json() {
  const std::vector<std::string> merges{"l o", "lo w", "Ġ low"};
  return {
      {"version", "1.0"},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"added_tokens", {{{"id", 260}, {"content", "<s>"}, {"special", true}}, {{"id", 261}, {"content", "<tool>"}}}},
      {"model", {{"type", "BPE"}, {"vocab", testing::small_vocabulary(merges, {"xyz"})}, {"merges", merges}}}};
}

std::unique_ptr<Tokenizer> loaded(const Json& json) {
  const TemporaryFolder folder;
  write_bytes(folder / "tokenizer.json", json.dump());
  return load_tokenizer(folder.path().string());
}

}  // namespace

TEST_CASE("tokenizer.json: added tokens, both forms of merges, ignore_merges", "[tokenizer]") {
  Json json = small_json();
  const auto check = [&] {
    const auto tokenizer = loaded(json);
    CHECK(tokenizer->encode("lo low<s><tool>") == Ids{256, 258, 260, 261});
    CHECK(tokenizer->encode("<s><tool>", Specials::plain) == Ids{'<', 's', '>', 261});
    CHECK(tokenizer->decode({258, 260}) == " low<s>");
    CHECK(tokenizer->vocab_size() == 262);
    CHECK(tokenizer->encode("xyz") == Ids{'x', 'y', 'z'});
    CHECK_THAT(tokenizer->describe(), contains("262 tokens, 1 special"));
  };
  check();
  json["model"]["merges"] = Json::parse(R"([["l", "o"], ["lo", "w"], ["Ġ", "low"]])");
  check();
  json["model"]["ignore_merges"] = true;
  CHECK(loaded(json)->encode("xyz") == Ids{259});
  json["added_tokens"] = {{{"id", 300}, {"content", "far"}}};
  CHECK(loaded(json)->vocab_size() == 301);
  CHECK_THROWS_WITH(loaded(json)->decode({270}), contains("token 270 is not in the vocabulary of 301"));
}

TEST_CASE("added tokens: the longest, and the first of one text", "[tokenizer]") {
  const AddedTokens tokens({{"<a", 1, true},
                            {"<ab>", 2, false},
                            {"", 3, false},
                            {"<a", 4, false},
                            {"\xff", 5, false},
                            {"<abc", 6, true},
                            {"<a", 7, true},
                            {"<ab>", 8, true}});
  const auto found = [&](std::string_view text, size_t from, const Specials& specials) {
    const AddedTokens::Found next = tokens.find(text, from, specials);
    return std::pair(next.at, next.token == nullptr ? -1 : next.token->id);
  };
  CHECK(found("x<ab>", 0, Specials::tokens) == std::pair(size_t{1}, 2));
  CHECK(found("x<abd", 0, Specials::tokens) == std::pair(size_t{1}, 1));
  CHECK(found("x<abd", 0, Specials::plain) == std::pair(size_t{1}, 4));
  CHECK(found("<abc", 0, Specials::tokens) == std::pair(size_t{0}, 6));
  CHECK(found("<abc", 0, Specials::plain) == std::pair(size_t{0}, 4));
  CHECK(found("<abc\xff", 1, Specials::tokens) == std::pair(size_t{4}, 5));
  CHECK(found("abc", 0, Specials::tokens) == std::pair(size_t{3}, -1));
  // Of a token each byte must be marked with 0.
  CHECK(found("<abc", 0, Specials(std::string_view("\0\0\0\0", 4))) == std::pair(size_t{0}, 6));
  CHECK(found("<abc", 0, Specials(std::string_view("\0\0\0\1", 4))) == std::pair(size_t{0}, 1));
  CHECK(found("<abc", 0, Specials(std::string_view("\0\2\0\0", 4))) == std::pair(size_t{0}, 4));
  CHECK(AddedTokens({}).find("abc", 0, Specials::tokens).token == nullptr);
}

TEST_CASE("many added tokens are looked for in a long text", "[tokenizer]") {
  std::vector<AddedToken> tokens;
  for (int i = 0; i < 100'000; ++i) tokens.push_back({"<t" + std::to_string(i) + ">", i, true});
  std::string text;
  for (int i = 0; i < 500'000; ++i) text += "<t";  // each a place where any of them may begin
  CHECK(AddedTokens(tokens).find(text + "<t77>", 0, Specials::tokens).token->id == 77);
}

TEST_CASE("tokenizer.json: splits and normal forms", "[tokenizer]") {
  Json json = small_json();
  json["model"]["vocab"]["12"] = 262;
  json["model"]["merges"].push_back("1 2");
  CHECK(loaded(json)->encode("a12") == Ids{'a', 262});
  const Json bytes = {{"type", "ByteLevel"}, {"use_regex", false}};
  const auto sequence = [&](const Json& step) {
    json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {step, bytes}}};
    return loaded(json)->encode("a12");
  };
  CHECK(sequence({{"type", "Digits"}, {"individual_digits", true}}) == Ids{'a', '1', '2'});
  CHECK(sequence({{"type", "Digits"}, {"individual_digits", false}}) == Ids{'a', 262});
  CHECK(sequence({{"type", "Split"}, {"pattern", {{"Regex", "1"}}}, {"behavior", "Isolated"}}) == Ids{'a', '1', '2'});
  CHECK(sequence({{"type", "Split"}, {"pattern", {{"String", "."}}}, {"behavior", "Isolated"}}) == Ids{'a', 262});

  json["normalizer"] = {{"type", "NFC"}};
  const auto tokenizer = loaded(json);
  CHECK(tokenizer->decode(tokenizer->encode("e\u0301\xff"
                                            "e\u0301")) == "\u00e9\xff\u00e9");
  CHECK_THAT(tokenizer->describe(), contains("normalized to NFC"));
}

TEST_CASE("tokenizer.json: what we lack is refused by name", "[tokenizer]") {
  struct Case {
    const char *pointer, *value, *wanted;
  };
  const Case cases[] = {
      {"/model/type", R"("WordPiece")", "model 'WordPiece' is not supported"},
      {"/model/byte_fallback", "true", "pre_tokenizer 'ByteLevel' is not supported (with byte_fallback, Metaspace is)"},
      {"/model/byte_fallback", "3", "byte_fallback is 3, expected true or false"},
      {"/model/dropout", "0.1", "dropout 0.1"},
      {"/model/end_of_word_suffix", R"("</w>")", "end_of_word_suffix is not supported"},
      {"/model/merges", R"(["a"])", "merge 'a' is not two tokens"},
      {"/model/merges", R"([["a","b","c"]])", "merge 1 is array"},
      {"/model/merges", R"(["a b"])", "merge 1: 'ab' is not in the vocabulary"},
      {"/model/merges", "7", "model.merges is number"},
      {"/model/vocab", R"({"a":0,"b":0})", "'a' and 'b' have the same id 0"},
      {"/model/vocab", R"({"a":-1})", "token 'a' has id -1"},
      {"/model/vocab", R"({"a":4000000000})", "token 'a' has id 4000000000"},
      {"/model/vocab", "{}", "the vocabulary is empty"},
      {"/model/vocab", "[]", "the vocabulary is array"},
      {"/pre_tokenizer", "null", "has no pre_tokenizer ByteLevel"},
      {"/pre_tokenizer/type", R"("Metaspace")", "pre_tokenizer 'Metaspace' is not supported"},
      {"/pre_tokenizer/add_prefix_space", "true", "add_prefix_space is not supported"},
      {"/pre_tokenizer", R"({"type":"Sequence"})", "no list pretokenizers"},
      {"/pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"})", "split pattern ("},
      {"/pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"MergedWithNext"})", "'MergedWithNext'"},
      {"/normalizer", R"({"type":"Lowercase"})", "normalizer 'Lowercase' is not supported"},
      {"/added_tokens/0/id", "-1", "added token '<s>' has id -1"},
      {"/added_tokens/0/lstrip", "true", "'<s>': lstrip is not supported"},
      {"/added_tokens", "3", "added_tokens is number"},
      {"/added_tokens/0", "7", "added token '' has id null"},
      {"/added_tokens/0/id", "1.5", "added token '<s>' has id 1.5"},
      {"/added_tokens/0/id", "4000000000", "added token '<s>' has id 4000000000"},
      {"/added_tokens/0/content", "7", "content is 7, expected a string"},
      {"/added_tokens/0/special", "7", "special is 7, expected true or false"},
      {"/model", "[]", "model '' is not supported"},
      {"/model/merges", R"([["a"]])", "merge 1 is array"},
      {"/model/merges", R"([["a",1]])", "merge 1 is array"},
      {"/model/merges", R"([[1,"a"]])", "merge 1 is array"},
      {"/model/merges", R"(["a\u0000 b"])", "merge 1"},
      {"/normalizer", R"({"type":3})", "type is 3, expected a string"},
      {"/normalizer", R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"NFD"}]})", "two normalizers"},
      {"/pre_tokenizer", R"({"type":"Split","behavior":"Isolated"})", "a Split has no pattern"},
      {"/pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"Isolated","invert":true})",
       "'Isolated'"},
      {"/pre_tokenizer", R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]})",
       "pre_tokenizer 'Digits' after ByteLevel or Metaspace is not supported"},
  };
  for (const Case& c : cases) {
    Json json = small_json();
    json[Json::json_pointer(c.pointer)] = Json::parse(c.value);
    INFO(c.pointer << " = " << c.value);
    CHECK_THAT(error_of([&] { loaded(json); }), contains(c.wanted) && contains("tokenizer.json: "));
  }
}

TEST_CASE("tokenizer.json over characters: what we lack is refused by name", "[tokenizer]") {
  Json good = small_json();
  good["model"] = {{"type", "BPE"},        {"byte_fallback", true}, {"vocab", {{"<unk>", 0}, {"▁", 1}, {"a", 2}}},
                   {"unk_token", "<unk>"}, {"fuse_unk", true},      {"merges", Json::array()}};
  good["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "first"}};
  good["decoder"] = {{"type", "Metaspace"}, {"prepend_scheme", "first"}};
  CHECK(loaded(good)->encode("a?? a") == Ids{1, 2, 0, 1, 2});
  const auto with = [&](const char* pointer, const char* value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = Json::parse(value);
    return error_of([&] { loaded(json); });
  };
  for (const char* fine : {R"({"type":"Metaspace","replacement":"▁"})",
                           R"({"type":"Metaspace","replacement":"▁","add_prefix_space":false,"split":false})"})
    CHECK(with("/pre_tokenizer", fine).empty());
  CHECK(with("/decoder", R"({"type":"Strip","content":" ","start":1,"stop":0})").empty());
  CHECK_THAT(with("/pre_tokenizer/replacement", R"("_")"), contains("Metaspace puts '_', U+2581 is supported"));
  CHECK_THAT(with("/pre_tokenizer/prepend_scheme", R"("last")"), contains("prepend_scheme 'last' is not supported"));
  CHECK_THAT(with("/normalizer", R"({"type":"Prepend","prepend":"▁"})"), contains("Metaspace after Prepend"));
  CHECK_THAT(with("/normalizer", R"({"type":"Prepend","prepend":"_"})"), contains("normalizer Prepend puts '_'"));
  for (const char* other : {R"({"type":"Replace","pattern":{"String":"x"},"content":"▁"})",
                            R"({"type":"Replace","pattern":{"String":" "},"content":"x"})"})
    CHECK_THAT(with("/normalizer", other), contains("normalizer 'Replace' is not supported"));
  CHECK_THAT(with("/pre_tokenizer", R"({"type":"Digits"})"), contains("with byte_fallback, Metaspace is"));
  CHECK_THAT(with("/pre_tokenizer", R"({"type":"Split"})"), contains("with byte_fallback, Metaspace is"));
  CHECK_THAT(with("/decoder", R"({"type":"WordPiece"})"), contains("decoder 'WordPiece' is not supported"));
  for (const char* strip :
       {R"({"type":"Strip","content":"x","start":1,"stop":0})", R"({"type":"Strip","content":" ","start":2,"stop":0})",
        R"({"type":"Strip","content":" ","start":1,"stop":1})"})
    CHECK_THAT(with("/decoder", strip), contains("decoder Strip is supported of one space at the start"));
  CHECK_THAT(with("/model/unk_token", R"("<none>")"), contains("unk_token '<none>' is not in the vocabulary"));
  CHECK_THAT(with("/model/dropout", "0.5"), contains("dropout 0.5"));
}

TEST_CASE("a byte without a token is an error that names it", "[tokenizer]") {
  Json json = small_json();
  json["model"]["vocab"].erase("Ā");  // byte 0
  CHECK_THROWS_WITH(loaded(json)->encode(std::string("ab \0", 4)), contains("byte 0x00 at 3 of the text has no token"));
  CHECK_THAT(loaded(json)->describe(), contains("no token for 1 of the 256 bytes"));
}

TEST_CASE("wrong tokenizer files get a line that names them", "[tokenizer]") {
  const TemporaryFolder folder;
  const auto refused = [&](const char* file, const std::string& bytes, const std::string& wanted) {
    write_bytes(folder / file, bytes);
    CHECK_THAT(error_of([&] { load_tokenizer((folder / file).string()); }),
               contains((folder / file).string()) && contains(wanted));
    fs::remove(folder / file);
  };
  CHECK_THROWS_WITH(load_tokenizer(folder.path().string()), contains("holds no tokenizer"));
  CHECK_THROWS_WITH(load_tokenizer((folder / "absent").string()), contains("absent: cannot read the tokenizer file"));
  refused("tokenizer.model", "\n\x0e\n\x05<unk>", "a field of 14 bytes ends beyond the 7 that are left (truncated?)");
  refused("tokenizer.model", "", "is empty: fetch or write it again");
  refused("tokenizer.model", "IQ== 0\nIg== 1\n", "has 2 ranks, Llama 3 has 128000 (truncated?)");
  refused("tokenizer.model", "IQ== 0\nIg==\n", "line 2: expected a token in base64");
  refused("tokenizer.model", "I*== 0\n", "line 1: expected a token in base64");
  refused("tokenizer.model", "IQ== 0x\n", "line 1: expected a token in base64");
  refused("tokenizer.model", "IQ== 128000\n", "line 1: rank 128000 is not one of");
  refused("tokenizer.model", "IQ== 0\nIg== 0\n", "line 2: rank 0 is given twice");
  refused("tokenizer.json", "{\"model\":", "is not JSON");
  refused("tokenizer.json", "{\"a\":1,\"a\":2}", "has key 'a' twice");
  refused("tokenizer.json", "[]", "it has no model");
  testing::write_gpt2_files(folder.path(), {"l o"}, {});
  refused("merges.txt", "#version: 0.2\nl o\nlo\n", "line 3: merge 'lo' is not two tokens");
  refused("merges.txt", "l o\r\nlo w\r\n", "merge 2: 'low' is not in the vocabulary");
  CHECK_THAT(error_of([&] { load_tokenizer((folder / "vocab.json").string()); }),
             contains("merges.txt: cannot read the tokenizer file"));
  testing::write_gpt2_files(folder.path(), {}, {});
  refused("vocab.json", "{\"a\":\"b\"}", "token 'a' has id 'b'");
}

}  // namespace headroom::models
