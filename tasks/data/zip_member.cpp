#include "tasks/data/fetch.h"

#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/files/mapped_file.h"

namespace headroom::tasks {
namespace {

// Sizes of the records and places in them. Source: PKWARE's APPNOTE.TXT, 4.3.
constexpr size_t end_size = 22, entry_size = 46, header_size = 30;
constexpr uint32_t end_mark = 0x06054b50, entry_mark = 0x02014b50, header_mark = 0x04034b50;
constexpr uint32_t stored = 0, deflated = 8;

/// Little-endian numbers of an archive; every place is checked.
class ZipBytes {
 public:
  explicit ZipBytes(std::string_view bytes) : bytes_(bytes) {}
  std::string_view slice(uint64_t at, uint64_t count) const {
    require(at <= bytes_.size() && count <= bytes_.size() - at, "ends before byte {} (truncated?)", at + count);
    return bytes_.substr(at, count);
  }
  uint32_t u16(uint64_t at) const { return number<uint16_t>(at); }
  uint32_t u32(uint64_t at) const { return number<uint32_t>(at); }

 private:
  template <class T>
  T number(uint64_t at) const {
    T value;
    std::memcpy(&value, slice(at, sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view bytes_;
};

struct ZipEntry {
  uint32_t method = 0, crc = 0;
  uint64_t size = 0;  ///< uncompressed
  std::string_view bytes;
};

ZipEntry entry_of(const ZipBytes& zip, uint64_t size, const std::string& member) {
  require(size >= end_size && zip.u32(size - end_size) == end_mark, "is no ZIP archive, or has a comment");
  const uint64_t count = zip.u16(size - end_size + 10);
  uint64_t at = zip.u32(size - end_size + 16);
  for (uint64_t i = 0; i < count; ++i) {
    require(zip.u32(at) == entry_mark, "entry {} of its list is none", i);
    const uint64_t name = zip.u16(at + 28), extra = zip.u16(at + 30), comment = zip.u16(at + 32);
    if (zip.slice(at + entry_size, name) != member) {
      at += entry_size + name + extra + comment;
      continue;
    }
    const uint64_t packed = zip.u32(at + 20), header = zip.u32(at + 42);
    require(zip.u32(header) == header_mark, "{} has no header", models::quoted_name(member));
    const uint64_t data = header + header_size + zip.u16(header + 26) + zip.u16(header + 28);
    return {zip.u16(at + 10), zip.u32(at + 16), zip.u32(at + 24), zip.slice(data, packed)};
  }
  fail("holds no {}", models::quoted_name(member));
}

/// f(bytes) for each stretch of what the entry holds.
template <class F>
void unpack(const ZipEntry& entry, const F& f) {
  if (entry.method == stored) return f(entry.bytes);
  require(entry.method == deflated, "a member is packed by method {}; stored and deflated ones are read", entry.method);
  z_stream stream{};
  require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "zlib does not start");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  static thread_local std::array<char, 1 << 18> out;
  std::string_view left = entry.bytes;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::string_view next = left.substr(0, size_t{1} << 20);
      left.remove_prefix(next.size());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next.data()));  // zlib's interface lacks the const
      stream.avail_in = static_cast<uInt>(next.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    state = inflate(&stream, Z_NO_FLUSH);
    require(state == Z_OK || state == Z_STREAM_END, "a member is damaged: {}",
            stream.msg ? stream.msg : "it ends early");
    f(std::string_view(out.data(), out.size() - stream.avail_out));
  }
}

}  // namespace

void append_zip_member(const std::filesystem::path& archive, const std::string& member, const std::filesystem::path& to,
                       uint64_t most) {
  const models::MappedFile file(archive);
  try {
    const ZipEntry entry = entry_of(ZipBytes(file.text()), file.text().size(), member);
    require(entry.size <= most, "{} has {} bytes, {} are expected at most", models::quoted_name(member), entry.size,
            most);
    std::ofstream out(to, std::ios::binary | std::ios::app);
    uint64_t size = 0;
    uLong crc = crc32(0, nullptr, 0);
    unpack(entry, [&](std::string_view bytes) {
      size += bytes.size();
      require(size <= entry.size, "{} is longer than its list says, {} bytes", models::quoted_name(member), entry.size);
      crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
      out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      require(out.good(), "{}: cannot be written", to.string());
    });
    out.close();
    require(out.good(), "{}: cannot be written", to.string());
    require(size == entry.size && crc == entry.crc, "{} has {} bytes of CRC-32 {:08x}; {} of {:08x} are expected",
            models::quoted_name(member), size, crc, entry.size, entry.crc);
  } catch (const Error& error) {
    throw error.in(archive.string());
  }
}

}  // namespace headroom::tasks
