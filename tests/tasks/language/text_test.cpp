#include <fstream>
#include <set>

#include "tasks/data/sha256.h"
#include "tasks/language/corpus.h"
#include "tasks/language/utf8.h"
#include "tests/experiments/support.h"
#include "tests/models/small_tokenizers.h"
#include "tests/support/catch.h"

using namespace headroom::tasks;
using headroom::testing::contains;
using headroom::testing::error_of;
using headroom::testing::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

/// A folder with text files, and a cache.
struct Texts {
  TemporaryFolder folder;
  DataRoots roots{folder.path(), folder.path() / "cache"};

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = folder.path() / "data" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  CorpusConfig config(const std::string& source) const {
    CorpusConfig config;
    config.source = source;
    return config;
  }
};

std::string alphabet(int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += static_cast<char>('a' + i * i % 26);
  return text;
}

std::vector<int32_t> ids(TokenSpan span) { return {span.begin(), span.end()}; }

}  // namespace

TEST_CASE("UTF-8 is decoded strictly") {
  CHECK(decode_utf8("aé€😀", "x") == std::vector<char32_t>{'a', 0xE9, 0x20AC, 0x1F600});
  for (const char* wrong : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                            "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x82", "\xC3"}) {
    CAPTURE(wrong);
    CHECK(first_invalid_utf8("ab" + std::string(wrong)) == 2);
  }
  CHECK(first_invalid_utf8("plain é") == std::string_view::npos);
  CHECK(
      contains(error_of([] { decode_utf8("abc\xFFz", "book.txt"); }), "book.txt: byte 0xff at offset 3 is not UTF-8"));
}

TEST_CASE("characters are the code points of the text, in order; splits are disjoint and together the text") {
  const Texts texts;
  std::string text;
  for (int i = 0; i < 100; ++i) text += i % 3 == 0 ? "é" : i % 3 == 1 ? "b" : "a";
  CorpusConfig config = texts.config(texts.write("x.txt", text));
  config.validation = 0.2;
  config.test = 0.1;
  const Corpus corpus(config, texts.roots, 5);
  CHECK(corpus.vocab() == 3);
  CHECK(corpus.train().size() == 70);
  CHECK(corpus.validation().size() == 20);
  CHECK(corpus.test().size() == 10);
  CHECK(corpus.validation().data() == corpus.train().data() + 70);
  CHECK(corpus.test().data() == corpus.validation().data() + 20);
  CHECK(ids(corpus.train().first(4)) == std::vector<int32_t>{2, 1, 0, 2});
  CHECK(corpus.hashes() == std::map<std::string, std::string>{{config.source, sha256(text)}});
}

TEST_CASE("bytes take any text, and count the characters of UTF-8") {
  const Texts texts;
  CorpusConfig config = texts.config(texts.write("x.txt", "aé" + alphabet(50)));
  config.tokenizer = "byte";
  const Corpus corpus(config, texts.roots, 2);
  CHECK(corpus.vocab() == 256);
  CHECK(ids(corpus.train().first(3)) == std::vector<int32_t>{'a', 0xC3, 0xA9});
  CHECK(corpus.characters()[0xC3] == 1);
  CHECK(corpus.characters()[0xA9] == 0);
  config.source = texts.write("raw", "\xFF\xFE\x80" + alphabet(50));
  const Corpus raw(config, texts.roots, 2);
  CHECK(ids(raw.train().first(3)) == std::vector<int32_t>{0xFF, 0xFE, 0x80});
  CHECK(raw.characters()[0x80] == 1);
  config.tokenizer = "char";
  CHECK(contains(error_of([&] { Corpus(config, texts.roots, 2); }), "raw: byte 0xff at offset 0 is not UTF-8"));
}

TEST_CASE("a text may have files of its own for validation and test, and a limit on what is trained on") {
  const Texts texts;
  CorpusConfig config = texts.config(texts.write("train.txt", alphabet(100)));
  config.validation_file = texts.write("valid.txt", alphabet(40) + "!");
  config.tokens = 30;
  const Corpus two(config, texts.roots, 8);
  CHECK(two.train().size() == 30);
  CHECK(two.validation().size() == 41);
  CHECK(two.test().data() == two.validation().data());
  CHECK(contains(two.describe(), "tested on validation"));
  CHECK(ids(two.train()) == ids(two.validation().first(30)));  // one vocabulary for all files
  config.test_file = texts.write("test.txt", alphabet(20));
  CHECK(Corpus(config, texts.roots, 8).test().size() == 20);
}

TEST_CASE("a named data set is looked for under the data folder, and the message says where") {
  const Texts texts;
  const std::string missing = error_of([&] { Corpus(texts.config("tinyshakespeare"), texts.roots, 8); });
  CHECK(contains(missing, "tinyshakespeare/input.txt: not found in " + (texts.folder.path() / "data").string()));
  CHECK(contains(missing, "HEADROOM_DATA"));
}

TEST_CASE("a data set's file that is not the manifest's is refused with both sizes, or both hashes") {
  const Texts texts;
  const auto refused = [&] { return error_of([&] { Corpus(texts.config("tinyshakespeare"), texts.roots, 8); }); };
  texts.write("tinyshakespeare/input.txt", alphabet(200));
  CHECK(contains(refused(), "tinyshakespeare/input.txt: has 200 bytes, 1115394 are expected (truncated?)"));
  texts.write("tinyshakespeare/input.txt", alphabet(1115394));
  CHECK(contains(refused(), "has SHA-256 "));
  CHECK(contains(refused(), "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed is expected"));
  texts.write("tokenizers/gpt2/merges.txt", "#version: 0.2\nh e\n");
  CorpusConfig config = texts.config(texts.write("text.txt", alphabet(200)));
  config.tokenizer = "tokenizers/gpt2";
  CHECK(contains(error_of([&] { Corpus(config, texts.roots, 8); }), "merges.txt: has 18 bytes, "));
}

TEST_CASE("a text that is shorter than one context, or empty, is an error with its sizes") {
  const Texts texts;
  const CorpusConfig config = texts.config(texts.write("short.txt", alphabet(100)));
  const std::string message = error_of([&] { Corpus(config, texts.roots, 10); });
  CHECK(contains(message, "short.txt"));
  CHECK(contains(message, "its validation text has 10 tokens: expected more than length = 10"));
  CHECK(contains(error_of([&] { Corpus(texts.config(texts.write("none.txt", "")), texts.roots, 10); }), "is empty"));
  CorpusConfig shares = config;
  shares.validation = 0.6;
  shares.test = 0.5;
  CHECK(contains(error_of([&] { Corpus(shares, texts.roots, 10); }), "expected less than 1, got 1.1"));
  CHECK(contains(error_of([&] { Corpus(texts.config(""), texts.roots, 10); }), "source: expected"));
  CorpusConfig tokenizer = config;
  tokenizer.tokenizer = "words";
  CHECK(contains(error_of([&] { Corpus(tokenizer, texts.roots, 5); }), "tokenizer:"));
}

TEST_CASE("tokens are kept in a mapped file, made anew when text, tokenizer or file changed") {
  const TemporaryFolder folder;
  const TokenCache cache(folder.path() / "tokens");
  int made = 0;
  const auto make = [&] {
    ++made;
    return std::vector<int32_t>{5, 6, 7};
  };
  for (int i = 0; i < 2; ++i) {
    const Tokens tokens = cache.get("a", "char", make);
    CHECK(made == 1);
    CHECK(tokens.is_mapped());
    CHECK(ids(tokens.span()) == std::vector<int32_t>{5, 6, 7});
  }
  cache.get("b", "char", make);
  cache.get("a", "byte", make);
  CHECK(made == 3);
  const fs::path file = cache.file_of("a", "char");
  for (const int64_t size : {0, 40, 84}) {  // cut off within the header, and within the ids
    fs::resize_file(file, static_cast<uintmax_t>(size));
    const int before = made;
    CHECK(ids(cache.get("a", "char", make).span()) == std::vector<int32_t>{5, 6, 7});
    CHECK(made == before + 1);
  }
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(81).put('x');  // one byte of an id
  CHECK(ids(cache.get("a", "char", make).span()) == std::vector<int32_t>{5, 6, 7});
  CHECK(made == 7);
  for (const auto& entry : fs::directory_iterator(folder.path() / "tokens"))
    CHECK(entry.path().extension() == ".tokens");  // no temporary file is left
}

TEST_CASE("without a folder that can be written, tokens stay in memory") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "in the way";
  const auto make = [] { return std::vector<int32_t>{1, 2}; };
  for (const fs::path& path : {fs::path(), folder.path() / "file"}) {
    const Tokens tokens = TokenCache(path).get("a", "char", make);
    CHECK_FALSE(tokens.is_mapped());
    CHECK(ids(tokens.span()) == std::vector<int32_t>{1, 2});
  }
}

TEST_CASE("a corpus read from its cache is the one that was read from text") {
  const Texts texts;
  const CorpusConfig config = texts.config(texts.write("x.txt", alphabet(1000)));
  const Corpus fresh(config, {texts.folder.path(), {}}, 8), made(config, texts.roots, 8),
      mapped(config, texts.roots, 8);
  CHECK(ids(fresh.train()) == ids(mapped.train()));
  CHECK(ids(made.validation()) == ids(mapped.validation()));
  CHECK(fs::exists(texts.roots.cache / "tokens"));
}

TEST_CASE("the Markov source is a corpus of its own") {
  CorpusConfig config;
  config.markov = {.symbols = 5, .order = 2, .tokens = 1000};
  config.test = 0.1;
  const Corpus corpus(config, {}, 8);
  CHECK(corpus.vocab() == 5);
  CHECK(corpus.order() == 2);
  CHECK(corpus.train().size() == 800);
  CHECK(*corpus.entropy_rate() == MarkovSource(config.markov).entropy_rate());
  CHECK(corpus.hashes().empty());
  config.test_file = "x";
  CHECK(contains(error_of([&] { Corpus(config, {}, 8); }), "a Markov source has no files"));
}

TEST_CASE("a tokenizer's folder encodes a text, and its tokens' characters are counted") {
  const Texts texts;
  const fs::path folder = texts.folder.path() / "data" / "tokenizers" / "small";
  fs::create_directories(folder);
  headroom::testing::write_gpt2_files(folder, {"a b", "ab a"}, {});
  std::string text;
  for (int i = 0; i < 20; ++i) text += "aba é\n";
  CorpusConfig config = texts.config(texts.write("x.txt", text));
  config.tokenizer = "tokenizers/small";
  const Corpus corpus(config, texts.roots, 4);
  CHECK(corpus.vocab() == 259);  // with <|endoftext|>, which GPT2Tokenizer adds where no file has it
  CHECK(ids(corpus.train().first(5)) == std::vector<int32_t>{257, ' ', 0xC3, 0xA9, '\n'});
  CHECK(corpus.characters()[257] == 3);
  CHECK(corpus.characters()[0xC3] == 1);
  CHECK(corpus.characters()[0xA9] == 0);
}
