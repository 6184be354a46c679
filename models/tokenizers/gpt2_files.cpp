#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/error.h"
#include "models/families/family.h"
#include "models/files/json.h"
#include "models/files/mapped_file.h"
#include "models/files/utf8.h"
#include "models/tokenizers/byte_alphabet.h"
#include "models/tokenizers/character_rules.h"
#include "models/tokenizers/folder_config.h"
#include "models/tokenizers/loaders.h"
#include "models/tokenizers/pre_tokenizers.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

/// merges.txt: a "#version" line, then one merge a line.
std::vector<std::pair<std::string, std::string>> read_merge_lines(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> merges;
  each_line(text, [&](std::string_view line, size_t number) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !(number == 1 && line.starts_with("#version"))) merges.push_back(read_merge(line));
  });
  return merges;
}

/// Adds merges in the order of their ranks.
void add_merges(BpeVocabulary& vocabulary, const std::map<int32_t, std::string>& tokens,
                const std::vector<std::pair<std::string, std::string>>& merges) {
  std::unordered_map<std::string, int32_t> ids;
  for (const auto& [id, text] : tokens) ids.emplace(text, id);
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    const auto a = ids.find(left), b = ids.find(right), both = ids.find(left + right);
    if (a == ids.end() || b == ids.end() || both == ids.end())
      fail("merge {}: {} is not in the vocabulary", rank + 1,
           quoted_name(a == ids.end()   ? left
                       : b == ids.end() ? right
                                        : left + right));
    vocabulary.merges.push_back({a->second, b->second, both->second, static_cast<uint32_t>(rank)});
  }
}

/// How the class that reads the pair of files cuts a text.
const PreTokenizer& pre_tokenizer_of_class(const FolderConfig& config, const fs::path& vocab) {
  require(!config.flag("add_prefix_space"), "{}: add_prefix_space is not supported",
          (vocab.parent_path() / "tokenizer_config.json").string());
  const std::string_view known = tokenizer_class(config.kind).splitter;
  require(!known.empty(),
          "{}: how a {} cuts texts is not known here (GPT2Tokenizer and Qwen2Tokenizer are): save it with transformers "
          "as tokenizer.json",
          vocab.string(), quoted_name(config.kind));
  return *pre_tokenizer_named(std::string(known));
}

}  // namespace

std::string folder_name(const fs::path& file) {
  std::error_code ignored;
  const fs::path absolute = fs::weakly_canonical(file, ignored);
  return absolute.has_parent_path() ? absolute.parent_path().filename().string() : file.stem().string();
}

void each_line(std::string_view text, const std::function<void(std::string_view, size_t)>& read) {
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    try {
      read(line, number);
    } catch (const Error& error) {
      fail("line {}: {}", number, error.what());
    }
  }
}

std::pair<std::string, std::string> read_merge(std::string_view text) {
  const size_t space = text.find(' ');
  require(space != std::string_view::npos && space > 0 && space + 1 < text.size() &&
              text.find(' ', space + 1) == std::string_view::npos,
          "merge {} is not two tokens with a space between", quoted_name(std::string(text)));
  return {std::string(text.substr(0, space)), std::string(text.substr(space + 1))};
}

std::map<int32_t, std::string> read_vocabulary(const nlohmann::json& json) {
  require(json.is_object(), "the vocabulary is {}, expected an object of token: id", json.type_name());
  std::map<int32_t, std::string> tokens;
  for (const auto& [token, id] : json.items()) {
    const bool is_id = id.is_number_unsigned() && id.get<uint64_t>() <= static_cast<uint64_t>(max_token_id);
    if (!is_id)
      fail("token {} has id {}, expected a whole number up to {}", quoted_name(token), shown(id), max_token_id);
    const auto [place, is_new] = tokens.emplace(id.get<int32_t>(), token);
    if (!is_new)
      fail("tokens {} and {} have the same id {}", quoted_name(place->second), quoted_name(token), shown(id));
  }
  require(!tokens.empty(), "the vocabulary is empty");
  return tokens;
}

std::vector<int32_t> add_tokens_and_merges(BpeVocabulary& vocabulary, const std::map<int32_t, std::string>& tokens,
                                           const std::vector<std::pair<std::string, std::string>>& merges) {
  vocabulary.tokens.resize(static_cast<size_t>(tokens.rbegin()->first) + 1);
  std::unordered_set<int32_t> unmade;
  for (const auto& [id, text] : tokens) {
    // Characters outside the alphabet (such as a space) can only be an added token's text.
    const std::string bytes = from_byte_alphabet(text).value_or(text);
    if (bytes.size() != 1) unmade.insert(id);
    vocabulary.tokens[static_cast<size_t>(id)] = bytes;
  }
  add_merges(vocabulary, tokens, merges);
  for (const Merge& merge : vocabulary.merges) unmade.erase(merge.result);
  return {unmade.begin(), unmade.end()};
}

void add_character_tokens(BpeVocabulary& vocabulary, const std::map<int32_t, std::string>& tokens,
                          const std::vector<std::pair<std::string, std::string>>& merges, bool byte_fallback) {
  vocabulary.tokens.resize(static_cast<size_t>(tokens.rbegin()->first) + 1);
  CharacterRules& rules = vocabulary.characters.emplace();
  rules.bytes.fill(-1);
  for (const auto& [id, text] : tokens) {
    const std::optional<unsigned char> byte = byte_fallback ? byte_of_piece(text) : std::nullopt;
    std::string& bytes = vocabulary.tokens[static_cast<size_t>(id)];
    bytes = byte ? std::string(1, static_cast<char>(*byte)) : with_spaces(rules, text);
    if (byte) rules.bytes[*byte] = id;
    else if (first_code_point(bytes).bytes == bytes.size()) rules.ids.emplace(bytes, id);
  }
  add_merges(vocabulary, tokens, merges);
}

BpeVocabulary read_gpt2_files(const fs::path& vocab, const fs::path& merges) {
  BpeVocabulary vocabulary;
  vocabulary.name = folder_name(vocab);
  vocabulary.files = {vocab, merges};
  const MappedFile vocab_file(vocab, tokenizer_file), merges_file(merges, tokenizer_file);
  const auto tokens = naming(vocab.string(), [&] { return read_vocabulary(parse_json(vocab_file.text())); });
  const auto unmade = naming(
      merges.string(), [&] { return add_tokens_and_merges(vocabulary, tokens, read_merge_lines(merges_file.text())); });
  for (const int32_t id : unmade) vocabulary.added.push_back({tokens.at(id), id, true});
  FolderConfig config = read_folder_config(vocab.parent_path());
  if (config.kind.empty()) config.kind = "GPT2Tokenizer";
  const PreTokenizer& cut = pre_tokenizer_of_class(config, vocab);
  for (const std::string& pattern : cut.patterns) vocabulary.splitters.emplace_back(pattern);
  vocabulary.normalization = cut.normalization;
  vocabulary.splitter = cut.names[0];
  vocabulary.added.insert(vocabulary.added.end(), config.added.begin(), config.added.end());
  const auto is_added = [&](int32_t id) {
    return std::any_of(vocabulary.added.begin(), vocabulary.added.end(), [&](const auto& t) { return t.id == id; });
  };
  for (const auto& [id, text] : tokens)
    if (std::find(config.special.begin(), config.special.end(), text) != config.special.end() && !is_added(id))
      vocabulary.added.push_back({text, id, true});
  // The class's own tokens that no file gives an id have the next ones, as transformers adds them.
  for (const char* key : {"bos_token", "eos_token"}) {
    const auto text = config.named(key);
    const auto is_it = [&](const auto& token) { return token.text == *text; };
    if (!text || std::any_of(vocabulary.added.begin(), vocabulary.added.end(), is_it)) continue;
    const auto found = std::find_if(tokens.begin(), tokens.end(), [&](const auto& t) { return t.second == *text; });
    int32_t next = tokens.rbegin()->first + 1;
    for (const AddedToken& token : vocabulary.added) next = std::max(next, token.id + 1);
    vocabulary.added.push_back({*text, found == tokens.end() ? next : found->first, true});
  }
  return vocabulary;
}

}  // namespace headroom::models
