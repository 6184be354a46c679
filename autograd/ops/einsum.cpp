#include <algorithm>
#include <map>

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {
namespace {

/// An operand and the letters of its axes.
struct Term {
  std::string letters;
  Var value;
};

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

/// Sums the axes whose letters are not in `wanted`.
Term without_others(const Term& term, const std::string& wanted) {
  Term out;
  std::vector<int> axes;
  for (size_t i = 0; i < term.letters.size(); ++i)
    if (has(wanted, term.letters[i])) out.letters += term.letters[i];
    else axes.push_back(static_cast<int>(i));
  out.value = axes.empty() ? term.value : sum(term.value, axes);
  return out;
}

Var in_order(const Term& term, const std::string& letters) {
  std::vector<int> axes;
  for (const char letter : letters) axes.push_back(static_cast<int>(term.letters.find(letter)));
  return permute(term.value, axes);
}

/// The product of two terms, with the axes of `wanted` that either has, as one matmul (B, L, S) × (B, S, R).
Term product(const Term& first, const Term& second, const std::string& wanted) {
  const Term a = without_others(first, wanted + second.letters), b = without_others(second, wanted + first.letters);
  std::string batch, left, summed, right;
  for (const char letter : a.letters) (!has(b.letters, letter) ? left : has(wanted, letter) ? batch : summed) += letter;
  for (const char letter : b.letters)
    if (!has(a.letters, letter)) right += letter;
  Shape shape;
  int64_t b_size = 1, l_size = 1, s_size = 1, r_size = 1;
  const auto grow = [&](const std::string& letters, const Term& from, int64_t& size, bool is_kept) {
    for (const char letter : letters) {
      const int64_t n = from.value.dim(static_cast<int>(from.letters.find(letter)));
      size *= n;
      if (is_kept) shape.push_back(n);
    }
  };
  grow(batch, a, b_size, true), grow(left, a, l_size, true), grow(right, b, r_size, true);
  grow(summed, a, s_size, false);
  const Var x = reshape(in_order(a, batch + left + summed), {b_size, l_size, s_size});
  const Var y = reshape(in_order(b, batch + summed + right), {b_size, s_size, r_size});
  return {batch + left + right, reshape(matmul(x, y), shape)};
}

/// The letters of each operand, then those of the result. Throws Error unless they fit the operands.
std::vector<std::string> parse(const std::string& equation, const std::vector<Var>& operands) {
  const size_t arrow = equation.find("->");
  require(arrow != std::string::npos, "einsum: '{}' has no '->'", equation);
  std::vector<std::string> all(1);
  for (const char c : equation.substr(0, arrow))
    if (c == ',') all.emplace_back();
    else if (c != ' ') all.back() += c;
  require(all.size() == operands.size(), "einsum: '{}' is for {} operands, given {}", equation, all.size(),
          operands.size());
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < all.size(); ++i) {
    require(operands[i].defined(), "einsum: operand {} is undefined", i);
    require(std::ssize(all[i]) == operands[i].shape().rank(), "einsum: '{}' of '{}' is for another rank: {}", all[i],
            equation, operands[i].value());
    for (size_t axis = 0; axis < all[i].size(); ++axis) {
      const char letter = all[i][axis];
      const int64_t n = operands[i].dim(static_cast<int>(axis));
      require((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'), "einsum: '{}' in '{}' is no letter",
              letter, equation);
      require(all[i].find(letter) == axis, "einsum: '{}' is twice in '{}' of '{}'", letter, all[i], equation);
      const int64_t size = sizes.emplace(letter, n).first->second;
      require(size == n, "einsum: '{}' of '{}' is {} and {}: {}", letter, equation, size, n, operands[i].value());
    }
  }
  std::string result = equation.substr(arrow + 2);
  result.erase(std::remove(result.begin(), result.end(), ' '), result.end());
  for (size_t axis = 0; axis < result.size(); ++axis)
    require(sizes.contains(result[axis]) && result.find(result[axis]) == axis,
            "einsum: '{}' on the right of '{}' is no operand's, or there twice", result[axis], equation);
  all.push_back(result);
  return all;
}

}  // namespace

Var einsum(const std::string& equation, const std::vector<Var>& operands) {
  const std::vector<std::string> letters = parse(equation, operands);
  Term term{letters[0], operands[0]};
  for (size_t i = 1; i < operands.size(); ++i) {
    std::string wanted;  // by the result and later operands
    for (size_t later = i + 1; later < letters.size(); ++later) wanted += letters[later];
    term = product(term, {letters[i], operands[i]}, wanted);
  }
  return in_order(without_others(term, letters.back()), letters.back());
}

}  // namespace headroom::autograd
