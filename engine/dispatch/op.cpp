#include "engine/dispatch/op.h"

#include <algorithm>
#include <cstring>

#include "engine/error.h"

namespace headroom::engine {
namespace {

std::vector<const OpBase*>& list() {
  static std::vector<const OpBase*> ops;
  return ops;
}

const char* word(Device::Kind kind) { return kind == Device::Kind::cpu ? "cpu" : "cuda"; }

}  // namespace

OpBase::OpBase(const char* name) : name_(name) { list().push_back(this); }

void OpBase::check_operands(std::span<const Operand> operands) const {
  const Tensor& first = *operands[0].tensor;
  for (const Operand& operand : operands) {
    const Tensor& x = *operand.tensor;
    if (!x.defined() && operand.is_optional) continue;
    if (!x.defined()) fail("{}: operand {} is undefined", name_, operand.name);
    if (x.device() != first.device())
      fail("{}: operands lie on different devices: {} {} on {}, {} {} on {}", name_, operands[0].name, first.str(),
           first.device().str(), operand.name, x.str(), x.device().str());
    if (operand.kind == Operand::Kind::index && x.dtype() != DType::i64)
      fail("{}: {} {} is not i64", name_, operand.name, x.str());
    if (operand.kind == Operand::Kind::mask && x.dtype() != DType::boolean)
      fail("{}: {} {} is not bool", name_, operand.name, x.str());
    if (operand.kind == Operand::Kind::bytes && x.dtype() != DType::u8)
      fail("{}: {} {} is not u8", name_, operand.name, x.str());
    if (operand.kind == Operand::Kind::statistic && x.dtype() != statistic_dtype(first.dtype()))
      fail("{}: {} {} is not {}, as {} {} needs it", name_, operand.name, x.str(),
           name_of(statistic_dtype(first.dtype())), operands[0].name, first.str());
    if (operand.kind == Operand::Kind::real && x.dtype() != first.dtype())
      fail("{}: operands differ in dtype: {} {}, {} {}", name_, operands[0].name, first.str(), operand.name, x.str());
  }
}

void OpBase::check_shapes(std::span<const Operand> operands) const {
  const Operand& first = operands[0];
  for (const Operand& operand : operands)
    if (operand.tensor->defined() && operand.tensor->shape() != first.tensor->shape())
      fail("{}: shapes differ: {} {}, {} {}", name_, first.name, first.tensor->str(), operand.name,
           operand.tensor->str());
}

void OpBase::refuse(const Tensor& operand, bool has_partial) const {
  fail("{}: no {} kernel on {}{}: {}", name_, name_of(operand.dtype()), word(operand.device().kind),
       has_partial ? " for this problem" : "", operand.str());
}

void OpBase::make_contiguous(std::span<const Operand> operands) {
  for (const Operand& operand : operands)
    if (operand.tensor->defined() && !operand.tensor->is_contiguous()) *operand.tensor = operand.tensor->contiguous();
}

void OpBase::use_on_stream(std::span<const Operand> operands) {
  for (const Operand& operand : operands) operand.tensor->use_on_stream();
}

Work OpBase::plain_work(std::span<const Operand> operands, double exponentials) {
  const Tensor& first = *operands[0].tensor;
  Work work{.exponentials = exponentials * static_cast<double>(first.numel()), .bytes = bytes_of(first)};
  for (const Operand& operand : operands) work.bytes += bytes_of(*operand.tensor);
  return work;
}

ImplementationInfo OpBase::info(const char* name, DTypeSet dtypes, IsaSet levels, bool is_reference, bool is_partial,
                                Device::Kind device) {
  return {name, word(device), str(dtypes), str(levels), is_reference, is_partial};
}

std::vector<const OpBase*> all_ops() {
  std::vector<const OpBase*> ops = list();
  std::sort(ops.begin(), ops.end(),
            [](const OpBase* a, const OpBase* b) { return std::strcmp(a->name(), b->name()) < 0; });
  return ops;
}

std::vector<const OpBase*> tables_of(const std::string& op) {
  std::vector<const OpBase*> out;
  for (const OpBase* table : all_ops())
    if (table->name() == op || table->name() == op + "_grad") out.push_back(table);
  return out;
}

}  // namespace headroom::engine
