#include "experiments/new_op/new_op.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <system_error>

#include "autograd/op_suite/registry.h"
#include "engine/error.h"

namespace headroom::experiments {
namespace {

/// Words that cannot name a C++ function, or whose type (`Tensor` for "tensor") the engine has already.
constexpr const char* reserved[] = {
    "and",      "asm",     "auto",     "bool",      "break",     "case",     "catch",    "char",    "class",
    "concept",  "const",   "continue", "default",   "delete",    "do",       "double",   "else",    "enum",
    "explicit", "export",  "extern",   "false",     "float",     "for",      "friend",   "goto",    "if",
    "inline",   "int",     "long",     "mutable",   "namespace", "new",      "noexcept", "not",     "nullptr",
    "operator", "or",      "private",  "protected", "public",    "register", "requires", "return",  "short",
    "signed",   "sizeof",  "static",   "struct",    "switch",    "template", "this",     "throw",   "true",
    "try",      "typedef", "typeid",   "typename",  "union",     "unsigned", "using",    "virtual", "void",
    "volatile", "while",   "xor",      "device",    "error",     "isa",      "mask",     "rng",     "shape",
    "storage",  "tensor",  "var",      "vec"};

void check_name(const std::string& name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (name.empty() || name[0] < 'a' || name[0] > 'z' || !std::all_of(name.begin(), name.end(), fits))
    fail("new-op: '{}' is no name for an op: lower-case letters, digits and _, a letter first", name);
  if (std::find(std::begin(reserved), std::end(reserved), name) != std::end(reserved))
    fail("new-op: '{}' has a meaning already: choose another name", name);
  for (const autograd::OpEntry& op : autograd::op_registry())
    if (op.name == name) fail("new-op: there is an op '{}' already: choose another name", name);
}

/// "soft_plus" → "SoftPlus".
std::string pascal_case(const std::string& name) {
  std::string out;
  bool start = true;
  for (const char c : name) {
    if (c != '_') out += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    start = c == '_';
  }
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string renamed(const std::string& text, const std::string& name) {
  return replaced(replaced(text, "softplus", name), "Softplus", pascal_case(name));
}

}  // namespace

std::vector<std::string> write_new_op(const std::string& name, const std::filesystem::path& folder) {
  check_name(name);
  std::error_code error;
  if (std::filesystem::exists(folder, error)) fail("new-op: {} exists already: choose another folder", folder.string());
  std::filesystem::create_directories(folder, error);
  if (error) fail("new-op: cannot make the folder {}: {}", folder.string(), error.message());
  std::vector<std::string> names;
  for (const NewOpFile& file : new_op_files()) {
    names.push_back(renamed(file.name, name));
    const std::filesystem::path path = folder / names.back();
    std::filesystem::create_directories(path.parent_path(), error);
    std::ofstream out(path);
    out << renamed(file.text, name);
    out.close();
    if (!out) fail("new-op: cannot write {}", path.string());
  }
  return names;
}

}  // namespace headroom::experiments
