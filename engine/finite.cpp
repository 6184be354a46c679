#include "engine/finite.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "engine/parallel.h"

namespace headroom::engine {
namespace {

/// The smallest i in [0, count) for which some(i, i + 1); `some(begin, end)` asks whether there is one in a range.
template <class F>
int64_t first_index(int64_t count, int64_t grain, const F& some) {
  std::atomic<int64_t> first{count};
  parallel_ranges(count, grain, [&](int64_t begin, int64_t end) {
    if (begin >= first.load() || !some(begin, end)) return;
    while (!some(begin, begin + 1)) ++begin;
    for (int64_t known = first.load(); begin < known && !first.compare_exchange_weak(known, begin);) continue;
  });
  return first.load();
}

/// Of the numbers whose exponent is all ones; Bits is an unsigned integer of their size.
template <class Bits>
int64_t first_of(const Tensor& x, Bits exponent) {
  const auto* bits = static_cast<const Bits*>(x.raw());
  return first_index(x.numel(), int64_t{1} << 16, [&](int64_t begin, int64_t end) {
    Bits found = 0;
    for (int64_t i = begin; i < end; ++i) found |= static_cast<Bits>((bits[i] & exponent) == exponent);
    return found != 0;
  });
}

int64_t first_of(const Tensor& x) {
  switch (x.dtype()) {
    case DType::f16:
      return first_of<uint16_t>(x, 0x7C00);
    case DType::bf16:
      return first_of<uint16_t>(x, 0x7F80);
    case DType::f32:
      return first_of<uint32_t>(x, 0x7F800000);
    case DType::f64:
      return first_of<uint64_t>(x, 0x7FF0000000000000);
    default:
      return x.numel();
  }
}

}  // namespace

std::optional<std::string> first_not_finite(const Tensor& x) {
  const Tensor here = x.to(cpu).contiguous();
  int64_t rest = first_of(here);
  if (rest == x.numel()) return std::nullopt;
  const double value = here.reshape({x.numel()}).slice(0, rest, rest + 1).to(DType::f64).item();
  Shape index = x.shape();
  for (int axis = x.rank() - 1; axis >= 0; rest /= x.dim(axis--)) index[axis] = rest % x.dim(axis);
  return fmt::format("{} at {}", value, index.str());
}

std::optional<std::string> first_not_finite(const QuantizedMatrix& matrix) {
  const BlockTraits& traits = traits_of(matrix.format());
  const QuantizedMatrix here = matrix.to(cpu);
  const uint8_t* const bytes = here.blocks().data<uint8_t>();
  const int64_t count = here.bytes() / traits.bytes;
  const bool is_number = traits.elements == 1;
  const uint16_t exponent = matrix.format() == BlockFormat::bf16 ? 0x7F80 : 0x7C00;
  const auto is_bad = [&](const uint8_t* block, int place) {
    uint16_t bits = 0;
    std::memcpy(&bits, block + place, sizeof bits);
    return (bits & exponent) == exponent;
  };
  const int64_t at = first_index(count, int64_t{1} << 12, [&](int64_t begin, int64_t end) {
    bool found = false;
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t* const block = bytes + i * traits.bytes;
      if (is_number) found |= is_bad(block, 0);
      for (const int place : traits.scale_places) found |= place >= 0 && is_bad(block, place);
    }
    return found;
  });
  if (at == count) return std::nullopt;
  const int64_t row = at * traits.elements / matrix.cols(), column = at * traits.elements % matrix.cols();
  std::vector<float> values(static_cast<size_t>(traits.elements));
  here.dequantize_row(row, column, column + traits.elements, values.data());
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return value - value != 0; });
  const auto number = bad == values.end() ? values.begin() : bad;
  return fmt::format("{} at {}", *number, Shape{row, column + (number - values.begin())}.str());
}

}  // namespace headroom::engine
