#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/files/other_kind.h"
#include "models/gguf/gguf.h"

namespace headroom::models {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF files are little-endian, and so are we");

constexpr uint64_t most_array_items = uint64_t{1} << 24;  ///< above every vocabulary
constexpr uint64_t most_tensors = uint64_t{1} << 20;
constexpr uint32_t most_axes = 4;
constexpr uint64_t least_entry_bytes = 24;  ///< of a tensor without a name or axes; keys take 13 at least

/// The rest of the header. Reading beyond the end is an Error.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T number(const char* what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string string(const char* what) {
    const auto length = number<uint64_t>(what);
    return std::string(take(length, what));
  }
  /// A count of things that take at least `least` bytes each.
  uint64_t count(uint64_t least, uint64_t most, const char* what) {
    const auto value = number<uint64_t>(what);
    require(value <= most, "{}: {} are more than {}", what, value, most);
    require(value <= left() / least, "{}: {} do not fit in the {} bytes that are left (truncated?)", what, value,
            left());
    return value;
  }
  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() - at_; }

 private:
  std::string_view take(uint64_t count, const char* what) {
    require(count <= left(), "{}: expected {} bytes, {} are left (truncated?)", what, count, left());
    const std::string_view bytes = bytes_.substr(at_, count);
    at_ += count;
    return bytes;
  }

  std::string_view bytes_;
  uint64_t at_ = 0;
};

GgufValueType value_type(Cursor& in) {
  const auto number = in.number<uint32_t>("type of a value");
  require(number <= static_cast<uint32_t>(GgufValueType::f64), "a value has type {}, which does not exist", number);
  return static_cast<GgufValueType>(number);
}

int64_t read_integer(Cursor& in, GgufValueType type) {
  const int64_t value = with_whole_type(type, [&]<class T>(T) {
    const T read = in.number<T>("a value");
    require(std::in_range<int64_t>(read), "a value is {}, at most 2^63 - 1 is read", read);
    return static_cast<int64_t>(read);
  });
  require(type != GgufValueType::boolean || value <= 1, "a bool is {}, expected 0 or 1", value);
  return value;
}

/// Fewest bytes that a value takes, by its type; those of strings and arrays are of their length.
constexpr std::array<uint64_t, 13> least_bytes{1, 1, 2, 2, 4, 4, 4, 1, 8, 8, 8, 8, 8};

GgufValue read_value(Cursor& in) {
  GgufValue value{.type = value_type(in), .is_array = false, .items = {}};
  uint64_t count = 1;
  if (value.type == GgufValueType::array) {
    value.is_array = true;
    value.type = value_type(in);
    require(value.type != GgufValueType::array, "an array of arrays is not read");
    count = in.count(least_bytes[static_cast<size_t>(value.type)], most_array_items, "elements of an array");
  }
  const auto read = [&]<class T>(const auto& one) {
    std::vector<T> items;
    items.reserve(count);
    for (uint64_t i = 0; i < count; ++i) items.push_back(one());
    value.items = std::move(items);
  };
  switch (value.type) {
    case GgufValueType::string:
      read.operator()<std::string>([&] { return in.string("a string"); });
      break;
    case GgufValueType::f32:
      read.operator()<double>([&] { return double{in.number<float>("a value")}; });
      break;
    case GgufValueType::f64:
      read.operator()<double>([&] { return in.number<double>("a value"); });
      break;
    default:
      read.operator()<int64_t>([&] { return read_integer(in, value.type); });
  }
  return value;
}

/// Name, axes and type; `begin` is still counted from the start of the tensors.
GgufEntry read_entry(Cursor& in) {
  GgufEntry entry;
  entry.name = in.string("name of a tensor");
  naming("tensor " + quoted_name(entry.name), [&] {
    const auto axes = in.number<uint32_t>("axes");
    require(axes <= most_axes, "has {} axes, at most {} are read", axes, most_axes);
    std::vector<int64_t> sizes;
    for (uint32_t axis = 0; axis < axes; ++axis) {
      const auto size = in.number<uint64_t>("size of an axis");
      require(size >= 1 && std::in_range<int64_t>(size), "axis {} has size {}", axis, size);
      sizes.push_back(static_cast<int64_t>(size));
    }
    for (size_t i = sizes.size(); i-- > 0;) entry.shape.push_back(sizes[i]);
    entry.form = gguf_form(in.number<uint32_t>("type"));
    entry.begin = in.number<uint64_t>("offset");
    entry.end = gguf_bytes(entry.form, entry.shape);
    require(!__builtin_add_overflow(entry.begin, entry.end, &entry.end), "offset {} is too large", entry.begin);
  });
  return entry;
}

uint64_t aligned(uint64_t at, uint64_t alignment) { return (at + alignment - 1) / alignment * alignment; }

/// Sorts the tensors by their bytes; each begins where the one before ends, apart from padding. Counts their offsets
/// from the start of the file. Returns how many bytes follow the last, apart from padding.
uint64_t place_entries(std::vector<GgufEntry>& entries, uint64_t start, uint64_t file_bytes, uint64_t alignment) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const GgufEntry& a, const GgufEntry& b) { return a.begin < b.begin; });
  uint64_t reached = 0;
  const GgufEntry* before = nullptr;
  std::set<std::string> names;
  require(start <= file_bytes, "the tensors begin at byte {}, beyond the file's {} (truncated?)", start, file_bytes);
  for (GgufEntry& entry : entries) {
    const std::string name = quoted_name(entry.name);
    require(names.insert(entry.name).second, "tensor {} is given twice", name);
    require(entry.begin % alignment == 0, "tensor {}: offset {} is no multiple of the alignment {}", name, entry.begin,
            alignment);
    require(entry.end <= file_bytes - start, "tensor {}: offsets [{}, {}) end beyond the {} bytes of tensors ({})",
            name, entry.begin, entry.end, file_bytes - start, "truncated?");
    if (entry.begin < reached)
      fail("tensor {}: offsets [{}, {}) overlap those of {}, which end at {}", name, entry.begin, entry.end,
           quoted_name(before->name), reached);
    require(entry.begin == aligned(reached, alignment), "bytes [{}, {}) before tensor {} belong to no tensor", reached,
            entry.begin, name);
    reached = entry.end;
    before = &entry;
  }
  for (GgufEntry& entry : entries) entry.begin += start, entry.end += start;
  const uint64_t left = file_bytes - start;
  return left - std::min(left, aligned(reached, alignment));
}

GgufHeader read_header(std::string_view file, const std::string& source) {
  GgufHeader header(source);
  Cursor in(file);
  require(file.substr(0, 4) == "GGUF", "{}", other_kind_or(file, "does not start with 'GGUF': no GGUF file"));
  in.number<uint32_t>("magic");
  const auto version = in.number<uint32_t>("version");
  require(
      __builtin_bswap32(version) == 0 || __builtin_bswap32(version) > 3,
      "is a big-endian GGUF file: fetch a little-endian one, or convert it (gguf-convert-endian of the package gguf)");
  require(version == 2 || version == 3, "has version {}; 2 and 3 are read{}", version,
          version == 1 ? ": fetch or convert the model anew" : "");
  const uint64_t tensors = in.count(least_entry_bytes, most_tensors, "tensors");
  const uint64_t keys = in.count(13, most_array_items, "keys");
  for (uint64_t i = 0; i < keys; ++i) {
    const std::string key = in.string("a key");
    try {
      header.metadata.add(key, read_value(in));
    } catch (const Error& error) {
      const std::string message = error.what();
      if (message.starts_with(source)) throw;
      fail("{}: {}", quoted_name(key), message);
    }
  }
  const int64_t alignment = header.metadata.count("general.alignment", 32);
  require(alignment >= 8 && alignment <= 1 << 20 && std::has_single_bit(static_cast<uint64_t>(alignment)),
          "general.alignment is {}, expected a power of two from 8 to 2^20", alignment);
  for (uint64_t i = 0; i < tensors; ++i) header.entries.push_back(read_entry(in));
  header.trailing = place_entries(header.entries, aligned(in.at(), static_cast<uint64_t>(alignment)), file.size(),
                                  static_cast<uint64_t>(alignment));
  return header;
}

}  // namespace

GgufHeader parse_gguf(std::string_view file, const std::string& source) {
  try {
    return read_header(file, source);
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(source)) throw;
    fail("{}: {}", source, message);
  }
}

}  // namespace headroom::models
