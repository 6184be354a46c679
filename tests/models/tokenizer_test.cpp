// Tokenizers against reference ids, and on small vocabularies of our own: tokenizers.json says where its ids are from.
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/error.h"
#include "models/tokenizers/byte_alphabet.h"
#include "models/tokenizers/load.h"
#include "models/tokenizers/pair_table.h"
#include "models/tokenizers/splitter.h"
#include "tests/models/small_tokenizers.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<int32_t>;
using testing::contains;
using testing::TemporaryFolder;

/// A reference tokenizer's folder; "" (and the test is skipped) where the vocabulary is not at hand.
fs::path data_folder(const std::string& name) {
  const char* data = std::getenv("HEADROOM_DATA");
  const fs::path folder = fs::path(data != nullptr ? data : "") / "data/tokenizers" / name;
  if (data != nullptr && fs::exists(folder)) return folder;
  testing::skip("no data/tokenizers/" + name + " under HEADROOM_DATA");
  return {};
}

std::string random_bytes(std::mt19937& random, size_t most, const std::string& alphabet) {
  std::string text(random() % most, '\0');
  for (char& c : text) c = alphabet.empty() ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
  return text;
}

/// decode(encode(x)) == x for every byte, every pair of bytes, and random strings.
void check_round_trips(const Tokenizer& tokenizer) {
  const auto round_trips = [&](const std::string& text) {
    return tokenizer.decode(tokenizer.encode(text)) == text &&
           tokenizer.decode(tokenizer.encode(text, Specials::plain)) == text;
  };
  size_t lost = 0;
  for (int a = 0; a < 256; ++a) {
    lost += round_trips({static_cast<char>(a)}) ? 0 : 1;
    for (int b = 0; b < 256; ++b) lost += round_trips({static_cast<char>(a), static_cast<char>(b)}) ? 0 : 1;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    lost += round_trips(random_bytes(random, 200, "")) ? 0 : 1;
    lost += round_trips(random_bytes(random, 200, "a's \n\t1\xe2\x80\xa8\xc3\xa9<|endoftext|>")) ? 0 : 1;
  }
  CHECK(lost == 0);
}

/// The ids of tokenizers.json, whose maker found `found` in a text; the texts come back from them unless the tokenizer
/// loses bytes.
void check_reference_ids(const Tokenizer& tokenizer, const std::string& name, bool is_lossless,
                         Specials found = Specials::tokens) {
  const Json reference = Json::parse(testing::read_bytes(testing::source_root() + "/tests/models/tokenizers.json"));
  const Json& expected = reference["tokenizers"][name];
  REQUIRE(reference["strings"].size() == expected["ids"].size());
  for (size_t i = 0; i < reference["strings"].size(); ++i) {
    const auto text = reference["strings"][i].get<std::string>();
    const Json& plain = expected["plain"].value(std::to_string(i), expected["ids"][i]);
    INFO(text);
    CHECK(tokenizer.encode(text, found) == expected["ids"][i].get<Ids>());
    CHECK(tokenizer.encode(text, Specials::plain) == plain.get<Ids>());
    if (is_lossless) CHECK(tokenizer.decode(expected["ids"][i].get<Ids>()) == text);
  }
  for (size_t i = 0; i < reference["repeat"].size(); ++i) {
    std::string text;
    for (int n = 0; n < reference["repeat"][i][1].get<int>(); ++n) text += reference["repeat"][i][0].get<std::string>();
    Ids ids;
    for (const Json& run : expected["repeat_rle"][i]) ids.insert(ids.end(), run[1].get<size_t>(), run[0].get<int>());
    CHECK(tokenizer.encode(text) == ids);
  }
}

void check_against_reference(const std::string& name) {
  const fs::path folder = data_folder(name);
  if (folder.empty()) return;
  const auto tokenizer = load_tokenizer(folder.string());
  check_reference_ids(*tokenizer, name, true);
  check_round_trips(*tokenizer);
  const std::string letters(1 << 20, 'a'), spaces(1 << 20, ' '), broken(1 << 20, '\xff');
  for (const std::string& text : {letters, spaces + "x", broken})
    CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
}

/// The merges done the slow way: the best pair of the whole text, one at a time.
Ids merged_slowly(const PairTable& table, Ids ids) {
  while (true) {
    const Merge* best = nullptr;
    size_t place = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const Merge* merge = table.find(ids[i], ids[i + 1]);
      if (merge != nullptr && (best == nullptr || merge->rank < best->rank)) best = merge, place = i;
    }
    if (best == nullptr) return ids;
    ids[place] = best->result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

}  // namespace

TEST_CASE("the byte tokenizer has one id per byte", "[tokenizer]") {
  const auto tokenizer = load_tokenizer("byte");
  CHECK(tokenizer->encode(std::string("a\0\xff", 3)) == Ids{97, 0, 255});
  CHECK(tokenizer->decode({0xc3, 0xa9, 0}) == std::string("é\0", 3));
  CHECK(tokenizer->vocab_size() == 256);
  CHECK_THROWS_WITH(tokenizer->decode({256}), contains("token 256 is not in the vocabulary of 256"));
  CHECK_THROWS_WITH(tokenizer->decode({-1}), contains("token -1 is not in the vocabulary of 256"));
  check_round_trips(*tokenizer);
}

TEST_CASE("GPT-2's ids are the reference's", "[tokenizer]") { check_against_reference("gpt2"); }

TEST_CASE("Llama 3's ids are the reference's", "[tokenizer]") { check_against_reference("llama3"); }

TEST_CASE("Llama 2's ids are SentencePiece's", "[tokenizer]") {
  const fs::path folder = data_folder("llama2");
  if (folder.empty()) return;
  const auto tokenizer = load_tokenizer(folder.string());
  check_reference_ids(*tokenizer, "llama2", true, Specials::plain);
  CHECK(tokenizer->describe() == "llama2: SentencePiece BPE with byte fallback, 32000 tokens");
  CHECK(tokenizer->token_bytes(15043) == " Hello");
  CHECK(tokenizer->token_bytes(13) == "\n");
  CHECK_THROWS_WITH(tokenizer->token_bytes(32000), contains("token 32000 is not in the vocabulary of 32000"));
}

TEST_CASE("SmolLM2's ids are those of the reference, from its GGUF file", "[tokenizer]") {
  const char* data = std::getenv("HEADROOM_DATA");
  const fs::path file = fs::path(data != nullptr ? data : "") / "models/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (data == nullptr || !fs::exists(file)) {
    testing::skip("no models/SmolLM2-135M-Instruct.Q4_1.gguf under HEADROOM_DATA");
    return;
  }
  const auto tokenizer = load_tokenizer(file.string());
  check_reference_ids(*tokenizer, "smollm2", false);
  Ids apart = tokenizer->encode("a");
  apart.push_back(tokenizer->encode("z")[0]);
  CHECK(tokenizer->encode("a\x04z") == apart);
  CHECK_THAT(tokenizer->describe(), contains("no token for 21 of the 256 bytes, which are dropped"));
}

TEST_CASE("merging by a heap is merging the best pair first", "[tokenizer]") {
  std::mt19937 random(2);
  for (int vocabulary = 0; vocabulary < 20; ++vocabulary) {
    std::vector<Merge> merges;  // tokens 0 to 3 are the bytes; every merge makes a new one of any two before it
    for (int32_t made = 4; made < 24; ++made)
      merges.push_back({static_cast<int32_t>(random() % static_cast<uint32_t>(made)),
                        static_cast<int32_t>(random() % static_cast<uint32_t>(made)), made,
                        static_cast<uint32_t>(made)});
    const PairTable table(merges);
    for (int i = 0; i < 50; ++i) {
      Ids ids(random() % 60);
      for (int32_t& id : ids) id = static_cast<int32_t>(random() % 4);
      Ids merged = ids;
      merge_pairs(table, merged);
      CHECK(merged == merged_slowly(table, ids));
    }
  }
}

TEST_CASE("a piece is a match or what lies between two, and nothing is lost", "[tokenizer]") {
  const auto pieces = [](const char* pattern, const std::string& text) {
    std::vector<std::string_view> views;
    Splitter(pattern).split(text, views);
    return std::vector<std::string>(views.begin(), views.end());
  };
  using Texts = std::vector<std::string>;
  CHECK(pieces(gpt2_pattern, "I've 12  xs\xff\xfe\xc3\xa9!") ==
        Texts{"I", "'ve", " 12", " ", " xs", "\xff\xfe", "\xc3\xa9", "!"});
  CHECK(pieces(llama3_pattern, "I'VE 1234\r\n\n x") == Texts{"I", "'VE", " ", "123", "4", "\r\n\n", " x"});
  CHECK(pieces("\\p{N}", "a12") == Texts{"a", "1", "2"});
  // U+180E is no white space to those who made the reference ids; U+3000 and U+0085 are.
  CHECK(pieces("\\s+",
               "a\xe1\xa0\x8e"
               "b\xe3\x80\x80\xc2\x85"
               "c") == Texts{"a\xe1\xa0\x8e"
                             "b",
                             "\xe3\x80\x80\xc2\x85", "c"});
  CHECK(pieces("x*", "axx") == Texts{"a", "xx"});
  CHECK_THROWS_WITH(Splitter("(a"), contains("split pattern (a"));
}

TEST_CASE("GPT-2's files give bytes, merges and the special token", "[tokenizer]") {
  const TemporaryFolder folder;
  testing::write_gpt2_files(folder.path(), {"l o", "lo w", "Ġ low"}, {"<|endoftext|>"});
  for (const fs::path& path : {folder.path(), folder / "merges.txt", folder / "vocab.json"}) {
    const auto tokenizer = load_tokenizer(path.string());
    CHECK(tokenizer->encode(" lowlo") == Ids{258, 256});
    CHECK(tokenizer->encode("low<|endoftext|>") == Ids{257, 259});
    CHECK(tokenizer->encode("<|e", Specials::plain) == Ids{'<', '|', 'e'});
    CHECK(tokenizer->encode("<|endoftext|>", Specials::plain).size() == 13);
    CHECK(tokenizer->vocab_size() == 260);
    CHECK(tokenizer->files() == std::vector<fs::path>{folder / "vocab.json", folder / "merges.txt"});
    CHECK_THAT(tokenizer->describe(), contains("260 tokens, 1 special"));
    CHECK_THROWS_WITH(tokenizer->decode({260}), contains("token 260 is not in the vocabulary of 260"));
    check_round_trips(*tokenizer);
  }
  CHECK(from_byte_alphabet("Ġ") == " ");
  CHECK(from_byte_alphabet("日") == std::nullopt);
}

TEST_CASE("Llama 3's ranks imply the merges", "[tokenizer]") {
  const TemporaryFolder folder;
  // The bytes, then "ab" and "abab" among fillers that no merge makes.
  testing::write_llama3_ranks(folder / "tokenizer.model", {"ab", "abab", "xyz"});
  const auto tokenizer = load_tokenizer(folder.path().string());
  CHECK(tokenizer->vocab_size() == 128256);
  CHECK(tokenizer->encode("abababx") == Ids{257, 256, 'x'});
  CHECK(tokenizer->encode("xyz") == Ids{258});  // a whole piece, though nothing merges into it
  CHECK(tokenizer->encode("wxyz") == Ids{'w', 'x', 'y', 'z'});
  CHECK(tokenizer->encode("a<|eot_id|><|reserved_special_token_250|>") == Ids{'a', 128009, 128255});
  check_round_trips(*tokenizer);
}

}  // namespace headroom::models
