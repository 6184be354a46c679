#include "tests/hostile/case.h"

#include <algorithm>
#include <set>

#include "engine/error.h"
#include "experiments/studies/toml/document.h"
#include "tests/hostile/edits.h"

namespace headroom::hostile {
namespace {

namespace fs = std::filesystem;
using experiments::Entry;
using experiments::Value;
using Kind = Value::Kind;
using Places = std::map<std::string, std::string>;

/// A file that cases share by name.
struct Base {
  std::string file, text;
};

[[noreturn]] void complain(const Value& value, const std::string& message) {
  fail("{}: {}", value.place.str(), message);
}

std::string text_of(const Value& value) {
  if (value.kind != Kind::text) complain(value, "expected a string");
  return value.text;
}

std::string text_of(const Value& table, const char* key) {
  const Entry* entry = table.find(key);
  if (entry == nullptr) complain(table, std::string("lacks ") + key);
  return text_of(entry->value);
}

int64_t integer_of(const Value& value) {
  if (value.kind != Kind::integer) complain(value, "expected an integer");
  return value.integer;
}

/// A string or a list of strings.
std::vector<std::string> texts_of(const Value& value) {
  if (value.kind != Kind::list) return {text_of(value)};
  std::vector<std::string> out;
  for (const Value& item : value.list) out.push_back(text_of(item));
  return out;
}

/// Words between spaces; single quotes keep spaces, and '' is an empty word.
std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  bool is_quoted = false, is_word = false;
  std::string word;
  for (const char c : text + " ") {
    if (c == '\'') {
      is_quoted = !is_quoted;
      is_word = true;
    } else if (c != ' ' || is_quoted) {
      word += c;
      is_word = true;
    } else if (is_word) {
      words.push_back(word);
      word.clear();
      is_word = false;
    }
  }
  return words;
}

std::vector<std::string> words_of(const Value& value) {
  return value.kind == Kind::list ? texts_of(value) : words_in(text_of(value));
}

void check_keys(const Value& table, const std::set<std::string>& known) {
  for (const Entry& entry : table.table)
    if (known.count(entry.key) == 0) fail("{}: unknown key '{}'", entry.place.str(), entry.key);
}

/// Control characters as \\xNN, for names.
std::string visible(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += static_cast<unsigned char>(c) < 0x20 ? fmt::format("\\x{:02x}", static_cast<int>(c)) : std::string(1, c);
  return out;
}

class SuiteReader {
 public:
  explicit SuiteReader(const Places& places) : places_(places) {}

  void shared(const Value& root) {
    check_keys(root, {"base", "fixture", "case", "family"});
    if (const Entry* bases = root.find("base"))
      for (const Entry& entry : bases->value.table) {
        check_keys(entry.value, {"file", "text"});
        add(bases_, entry, Base{text_of(entry.value, "file"), filled(text_of(entry.value, "text"), places_)});
      }
  }

  void read(const Value& root) {
    if (const Entry* fixtures = root.find("fixture"))
      for (const Entry& entry : fixtures->value.table) {
        check_keys(entry.value, {"base", "files", "run"});
        Fixture fixture;
        fixture.files = files_of(entry.value);
        for (const Value& command : entry.value.find("run")->value.list) fixture.commands.push_back(words_of(command));
        add(suite.fixtures, entry, fixture);
      }
    if (const Entry* cases = root.find("case"))
      for (const Value& value : cases->value.list) add_case(case_of(value), value);
    if (const Entry* families = root.find("family"))
      for (const Value& value : families->value.list) expand(value);
  }

  Suite suite;

 private:
  template <class T>
  void add(std::map<std::string, T>& into, const Entry& entry, T value) {
    if (!into.emplace(entry.key, std::move(value)).second) fail("{}: a second '{}'", entry.place.str(), entry.key);
  }

  void add_case(Case one, const Value& value) {
    if (!names_.insert(one.name).second) complain(value, "a second case '" + one.name + "'");
    if (!one.out && !one.err && one.has.empty() && one.json.empty())
      complain(value, "case '" + one.name + "' needs err, out, has or json");
    suite.cases.push_back(std::move(one));
  }

  FileSpec file_of(const std::string& name, const Value& value) const {
    FileSpec file;
    file.name = name;
    if (value.kind == Kind::text) {
      file.bytes = filled(value.text, places_);
      return file;
    }
    check_keys(value, {"base", "text", "hex", "repeat", "times", "then", "fifo", "folder", "link", "mode"});
    for (const Entry& entry : value.table) {
      const Value& given = entry.value;
      if (entry.key == "base") file.bytes += base(given).text;
      else if (entry.key == "text") file.bytes += filled(text_of(given), places_);
      else if (entry.key == "hex") file.bytes += from_hex(text_of(given));
      else if (entry.key == "repeat") file.unit = text_of(given);
      else if (entry.key == "times") file.times = integer_of(given);
      else if (entry.key == "then") file.tail = text_of(given);
      else if (entry.key == "mode") file.mode = std::stoi(text_of(given), nullptr, 8);
      else if (entry.key == "fifo") file.kind = FileSpec::Kind::fifo;
      else if (entry.key == "folder") file.kind = FileSpec::Kind::folder;
      else if (entry.key == "link") file.kind = FileSpec::Kind::link, file.bytes = text_of(given);
    }
    return file;
  }

  const Base& base(const Value& name) const {
    const auto found = bases_.find(text_of(name));
    if (found == bases_.end()) complain(name, "no base of this name");
    return found->second;
  }

  std::vector<FileSpec> files_of(const Value& table) const {
    std::vector<FileSpec> files;
    if (const Entry* entry = table.find("base")) {
      const Value& names = entry->value;
      for (const Value& name : names.kind == Kind::list ? names.list : std::vector<Value>{names}) {
        FileSpec& file = files.emplace_back();
        file.name = base(name).file;
        file.bytes = base(name).text;
      }
    }
    if (const Entry* entry = table.find("files"))
      for (const Entry& file : entry->value.table) files.push_back(file_of(file.key, file.value));
    return files;
  }

  static std::optional<Line> line_of(const Value& table, const char* key) {
    const Entry* entry = table.find(key);
    if (entry == nullptr) return std::nullopt;
    if (entry->value.kind == Kind::text) return Line{entry->value.text, Line::Match::exact};
    check_keys(entry->value, {"contains", "starts"});
    if (entry->value.find("contains") != nullptr) return Line{text_of(entry->value, "contains"), Line::Match::contains};
    return Line{text_of(entry->value, "starts"), Line::Match::starts};
  }

  Case case_of(const Value& table) const {
    check_keys(table, {"name", "base",  "fixture", "files", "bytes",  "env",          "run",     "streams", "status",
                       "out",  "err",   "leaves",  "makes", "absent", "unprivileged", "limited", "seconds", "megabytes",
                       "file", "edits", "values",  "needs", "script", "has",          "lacks",   "json",    "within"});
    Case one;
    one.name = text_of(table, "name");
    one.source = table.place.str();
    one.files = files_of(table);
    const auto list = [&](const char* key, std::vector<std::string>& into) {
      if (const Entry* entry = table.find(key)) into = texts_of(entry->value);
    };
    list("fixture", one.fixtures);
    list("leaves", one.leaves);
    list("makes", one.makes);
    list("absent", one.absent);
    list("has", one.has);
    list("lacks", one.lacks);
    if (const Entry* entry = table.find("needs")) one.needs = text_of(entry->value);
    if (const Entry* entry = table.find("script")) one.script = text_of(entry->value);
    if (const Entry* entry = table.find("within")) one.within = entry->value.number();
    if (const Entry* entry = table.find("json"))
      for (const Entry& item : entry->value.table) one.json.emplace_back(item.key, item.value);
    if (const Entry* entry = table.find("env"))
      for (const Entry& item : entry->value.table) one.environment[item.key] = text_of(item.value);
    const Entry* run = table.find("run");
    if ((run == nullptr) == one.script.empty()) complain(table, "needs run or script");
    if (run != nullptr) one.arguments = words_of(run->value);
    if (const Entry* entry = table.find("streams")) {
      check_keys(entry->value, {"in", "out", "err", "text"});
      for (const Entry& item : entry->value.table) {
        if (item.key == "in") one.streams.in = text_of(item.value);
        else if (item.key == "out") one.streams.out = text_of(item.value);
        else if (item.key == "err") one.streams.err = text_of(item.value);
        else one.streams.text = text_of(item.value);
      }
    }
    if (const Entry* entry = table.find("status")) one.status = static_cast<int>(integer_of(entry->value));
    if (const Entry* entry = table.find("seconds")) one.seconds = entry->value.number();
    if (const Entry* entry = table.find("megabytes")) one.megabytes = integer_of(entry->value);
    if (const Entry* entry = table.find("unprivileged")) one.is_unprivileged = entry->value.boolean;
    if (const Entry* entry = table.find("limited")) one.is_limited = entry->value.boolean;
    one.out = line_of(table, "out");
    one.err = line_of(table, "err");
    return one;
  }

  /// The file that a family changes: `file`, else the first.
  static std::string edited_file(const Value& family, const Case& common) {
    if (const Entry* entry = family.find("file")) return text_of(entry->value);
    if (common.files.empty()) complain(family, "expected a base or a file");
    return common.files[0].name;
  }

  void expand(const Value& family) {
    const Case common = case_of(family);
    size_t count = 0;
    for (const char* kind : {"edits", "bytes", "values"})
      if (const Entry* entry = family.find(kind))
        for (const Value& variant : entry->value.list) {
          add_case(variant_of(family, common, kind, texts_of(variant)), variant);
          ++count;
        }
    if (count == 0) complain(family, "expected edits, bytes or values");
  }

  Case variant_of(const Value& family, const Case& common, const std::string& kind, std::vector<std::string> parts) {
    if (parts.empty()) complain(family, "each variant needs what it changes");
    Case one = common;
    Places places;
    if (parts.size() > 1) {
      places[""] = parts.back();
      parts.pop_back();
    }
    for (const std::string& part : parts) one.name += (&part == parts.data() ? ": " : "; ") + visible(part);
    one.name = one.name.substr(0, 160);
    if (kind == "values") {
      places["value"] = parts[0];
      const Entry* run = family.find("run");
      if (run && run->value.kind == Kind::text)
        one.arguments = words_in(filled(run->value.text, places));  // many words
      else
        for (std::string& word : one.arguments) word = filled(word, places);
      for (std::string* text : {&one.needs, &one.script}) *text = filled(*text, places);
      for (auto& [name, value] : one.environment) value = filled(value, places);
      for (FileSpec& file : one.files)
        for (std::string* text : {&file.bytes, &file.unit, &file.tail}) *text = filled(*text, {{"value", parts[0]}});
      if (one.streams.text) one.streams.text = filled(*one.streams.text, {{"value", parts[0]}});
    } else {
      const std::string name = edited_file(family, common);
      for (const std::string& part : parts)
        if (kind == "bytes") one.byte_edits.emplace_back(name, part);
        else edit_text(one, name, part);
    }
    for (std::optional<Line>* line : {&one.out, &one.err})
      if (*line) (*line)->text = filled((*line)->text, places);
    for (std::string& text : one.has) text = filled(text, places);
    for (auto& [pointer, wanted] : one.json) wanted.text = filled(wanted.text, places);
    return one;
  }

  static void edit_text(Case& one, const std::string& name, const std::string& edit) {
    for (FileSpec& file : one.files)
      if (file.name == name) file.bytes = text_edited(file.bytes, edit);
  }

  Places places_;
  std::map<std::string, Base> bases_;
  std::set<std::string> names_;
};

}  // namespace

std::string filled(std::string text, const std::map<std::string, std::string>& places) {
  for (const auto& [name, value] : places) {
    const std::string from = "{" + name + "}";
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + value.size()))
      text.replace(at, from.size(), value);
  }
  return text;
}

Suite read_suite(const fs::path& folder, const Places& places) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".toml") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Value> roots;
  SuiteReader reader(places);
  for (const fs::path& path : paths) reader.shared(roots.emplace_back(experiments::read_toml(path.string())));
  for (const Value& root : roots) reader.read(root);
  return std::move(reader.suite);
}

}  // namespace headroom::hostile
