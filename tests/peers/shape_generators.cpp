// Generators of the ops that move numbers: views, parts, joins, and picks by index.
#include "autograd/ops.h"
#include "tests/peers/generators.h"

namespace headroom::peers {
namespace {

using namespace headroom::autograd;
using Vars = std::vector<Var>;

std::vector<int64_t> list_of(const Shape& shape) {
  std::vector<int64_t> out;
  for (int axis = 0; axis < shape.rank(); ++axis) out.push_back(shape[axis]);
  return out;
}

Case view_case(const std::string& op, Random& random, DType dtype) {
  const Shape shape = random.shape(1, 4);
  const int rank = shape.rank();
  const auto axis = static_cast<int>(random.integer(0, rank - 1)),
             other = static_cast<int>(random.integer(0, rank - 1));
  Case out{op, {drawn(random, "x", shape, dtype)}, nullptr};
  if (op == "reshape") {
    Shape target;
    for (int i = rank; i-- > 0;) target.push_back(shape[i]);
    if (random.chance(0.3)) target = Shape{shape.numel()};
    out.options["shape"] = list_of(target);
    out.run = [=](const Vars& in) { return reshape(in[0], target); };
  } else if (op == "permute") {
    std::vector<int> order;
    for (int i = 0; i < rank; ++i) order.insert(order.begin() + random.integer(0, i), i);
    out.options["axes"] = order;
    out.run = [=](const Vars& in) { return permute(in[0], order); };
  } else if (op == "transpose") {
    out.options = {{"a", axis}, {"b", other}};
    out.run = [=](const Vars& in) { return transpose(in[0], axis, other); };
  } else if (op == "slice") {
    const int64_t begin = random.integer(0, shape[axis]), end = random.integer(begin, shape[axis]);
    out.options = {{"axis", axis}, {"begin", begin}, {"end", end}};
    out.run = [=](const Vars& in) { return slice(in[0], axis, begin, end); };
  } else if (op == "select") {
    const Shape some = random.shape(1, 4, false);
    const auto at = static_cast<int>(random.integer(0, some.rank() - 1));
    const int64_t i = random.integer(0, some[at] - 1);
    out.inputs = {drawn(random, "x", some, dtype)};
    out.options = {{"axis", at}, {"i", i}};
    out.run = [=](const Vars& in) { return select(in[0], at, i); };
  } else if (op == "squeeze") {
    out.inputs = {drawn(random, "x", shape.with(axis, 1), dtype)};
    out.options = {{"axis", axis}};
    out.run = [=](const Vars& in) { return squeeze(in[0], axis); };
  } else if (op == "unsqueeze") {
    out.options = {{"axis", axis}};
    out.run = [=](const Vars& in) { return unsqueeze(in[0], axis); };
  } else {
    const Shape from = broadcast_partner(random, shape);
    out.inputs = {drawn(random, "x", from, dtype)};
    out.options["shape"] = list_of(shape);
    out.run = [=](const Vars& in) { return expand(in[0], shape); };
  }
  return out;
}

Case concat_case(Random& random, DType dtype) {
  const Shape shape = random.shape(1, 3);
  const auto axis = static_cast<int>(random.integer(0, shape.rank() - 1));
  Case out{"concat", {}, [=](const Vars& in) { return concat(in, axis); }, {{"axis", axis}}};
  for (int64_t i = 0, n = random.integer(1, 4); i < n; ++i)
    out.inputs.push_back(drawn(random, "part" + std::to_string(i), shape.with(axis, random.size(true)), dtype));
  return out;
}

Case stack_case(Random& random, DType dtype) {
  const Shape shape = random.shape(0, 3);
  const auto axis = static_cast<int>(random.integer(0, shape.rank()));
  Case out{"stack", {}, [=](const Vars& in) { return stack(in, axis); }, {{"axis", axis}}};
  for (int64_t i = 0, n = random.integer(1, 4); i < n; ++i)
    out.inputs.push_back(drawn(random, "part" + std::to_string(i), shape, dtype));
  return out;
}

/// One of the parts.
Case split_case(const std::string& op, Random& random, DType dtype) {
  const Shape shape = random.shape(1, 3);
  const auto axis = static_cast<int>(random.integer(0, shape.rank() - 1));
  std::vector<int64_t> sizes;
  for (int64_t i = 0, n = random.integer(1, 4); i < n; ++i)
    sizes.push_back(op == "chunk" && i > 0 ? sizes[0] : random.size(true));
  int64_t total = 0;
  for (const int64_t size : sizes) total += size;
  const auto count = static_cast<int64_t>(sizes.size()), part = random.integer(0, count - 1);
  return {op,
          {drawn(random, "x", shape.with(axis, total), dtype)},
          [=](const Vars& in) {
            return (op == "chunk" ? chunk(in[0], count, axis) : split(in[0], sizes, axis))[static_cast<size_t>(part)];
          },
          {{"axis", axis}, {"sizes", sizes}, {"part", part}}};
}

Case gather_case(Random& random, DType dtype) {
  const Shape shape = random.shape(1, 3, false);
  const auto axis = static_cast<int>(random.integer(0, shape.rank() - 1));
  return {"gather",
          {drawn(random, "x", shape, dtype),
           drawn_integers(random, "index", shape.with(axis, random.size()), 0, shape[axis] - 1)},
          [=](const Vars& in) { return gather(in[0], axis, in[1].value()); },
          {{"axis", axis}}};
}

Case index_select_case(Random& random, DType dtype) {
  const Shape shape = random.shape(1, 3, false);
  const auto axis = static_cast<int>(random.integer(0, shape.rank() - 1));
  return {"index_select",
          {drawn(random, "x", shape, dtype), drawn_integers(random, "indices", {random.size()}, 0, shape[axis] - 1)},
          [=](const Vars& in) { return index_select(in[0], axis, in[1].value()); },
          {{"axis", axis}}};
}

Case embedding_case(Random& random, DType dtype) {
  const int64_t vocab = random.size();
  return {"embedding",
          {drawn(random, "table", {vocab, random.size()}, dtype),
           drawn_integers(random, "indices", random.shape(0, 3), 0, vocab - 1)},
          [](const Vars& in) { return embedding(in[0], in[1].value()); }};
}

}  // namespace

void add_shape_generators(Generators& table) {
  table["concat"] = concat_case;
  table["embedding"] = embedding_case;
  table["gather"] = gather_case;
  table["index_select"] = index_select_case;
  table["stack"] = stack_case;
  for (const char* name : {"reshape", "permute", "transpose", "slice", "select", "squeeze", "unsqueeze", "expand"})
    table[name] = [name](Random& random, DType dtype) { return view_case(name, random, dtype); };
  for (const char* name : {"split", "chunk"})
    table[name] = [name](Random& random, DType dtype) { return split_case(name, random, dtype); };
}

}  // namespace headroom::peers
