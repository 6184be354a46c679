#include "autograd/var.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "engine/error.h"
#include "engine/joined_sums.h"
#include "engine/ops/dropout/dropout.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/sum/sum.h"

namespace headroom::autograd {
namespace {

thread_local int64_t unwanted_gradients_ = 0;

/// An operand that wanted a gradient while nothing was recorded, and the version that was read.
struct Captured {
  Var var;
  uint32_t version;
};
/// The leaves that record() notes while a checkpoint runs its function for the first time.
thread_local std::vector<Captured>* captured_ = nullptr;

/// True if two tensors on the CPU have the same bits; always true on other devices, which are not checked.
bool same_bits(const Tensor& a, const Tensor& b) {
  if (!a.device().is_cpu()) return true;
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.numel() == 0 || std::memcmp(x.raw(), y.raw(), static_cast<size_t>(x.numel() * size_of(x.dtype()))) == 0;
}

uint64_t next_id() {
  static std::atomic<uint64_t> id{0};
  return ++id;
}

}  // namespace

/// One entry of the tape. Ids grow with creation, so descending id is a topological order.
struct Node {
  Tensor value, grad;
  engine::DType grad_dtype = engine::DType::f32;
  bool requires_grad = false;
  bool bound = false;                ///< grad is a view of an arena
  std::weak_ptr<const void> binder;  ///< that arena
  bool grad_fresh = false;           ///< the bound grad counts as zero
  Tensor values, gradients;          ///< the arena's flat buffers
  int64_t offset = 0;                ///< the first element in them
  std::function<Tensor()> place;     ///< of grad, where it belongs to a larger one
  bool consumed = false;             ///< backward() passed here and freed the saved values
  engine::Dropout dropout;           ///< see Var::drops()
  const char* op = "leaf";
  uint64_t id = next_id();
  std::vector<Var> parents;
  std::vector<uint32_t> versions;  ///< of each parent's storage, then of the output's, when recorded
  detail::BoundVjp vjp;

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  /// Frees a long chain of nodes in a loop: nested destructors would run out of stack.
  ~Node() {
    std::vector<Var> chain = std::move(parents);
    vjp = nullptr;
    while (!chain.empty()) {
      const Var last = std::move(chain.back());
      chain.pop_back();
      if (!last.defined() || last.node().use_count() > 1) continue;
      Node& node = *last.node();
      node.vjp = nullptr;
      chain.insert(chain.end(), node.parents.begin(), node.parents.end());
      node.parents.clear();
    }
  }

  /// Takes g over. A gradient that others still hold (a caller's cotangent, another leaf's gradient) is copied for a
  /// leaf, whose gradient is there for everyone to see and to write to; on its way through the graph it may be shared.
  /// `g` may be of the value's dtype where the gradient's is another.
  void accumulate(Tensor g) {
    // Written or added there by the vjp: see Needs.
    const bool is_there = bound && g.shares_storage(grad) && g.raw() == grad.raw() && g.dtype() == grad.dtype();
    if (bound && grad_fresh && !is_there) engine::convert_inplace(grad, g);
    if (is_there || (bound && grad_fresh)) {
      grad_fresh = false;
      return;
    }
    if (g.dtype() != grad_dtype) g = g.to(grad_dtype);
    if (bound) engine::JoinedSums::finish();  // the gradient may wait to be written
    if (grad.defined() && grad.is_contiguous() && (bound || grad.is_unique())) {
      engine::add_inplace(grad, g);
    } else if (bound) {
      engine::copy_inplace(grad, engine::add(grad, g));  // a matrix in padded rows
    } else if (!grad.defined()) {
      const bool is_own = vjp || (g.is_unique() && g.is_contiguous());
      grad = is_own ? std::move(g) : g.clone();
    } else {
      grad = engine::add(grad, g);
    }
  }
};

namespace {

using NodePtr = std::shared_ptr<Node>;

/// neighbours(), in one of the arena's buffers.
Tensor joined(std::span<const Var> leaves, Tensor Node::*buffer) {
  if (leaves.empty() || !leaves[0].defined()) return Tensor();
  const Node& first = *leaves[0].node();
  int64_t end = first.offset, rows = 0;
  for (const Var& leaf : leaves) {
    if (!leaf.defined() || leaf.value().rank() == 0) return Tensor();
    const Node& node = *leaf.node();
    if (!(node.*buffer).shares_storage(first.*buffer) || node.offset != end || !leaf.value().is_contiguous() ||
        leaf.shape().without(0) != first.value.shape().without(0))
      return Tensor();
    end += leaf.shape().numel();
    rows += leaf.dim(0);
  }
  return (first.*buffer).slice(0, first.offset, end).reshape(first.value.shape().with(0, rows));
}

/// Every node that a gradient flows through from `root`, newest first.
std::vector<NodePtr> reachable(const NodePtr& root) {
  std::vector<NodePtr> nodes{root};
  std::unordered_set<const Node*> seen{root.get()};
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<Var>& parents = nodes[i]->parents;
    for (const Var& parent : parents)
      if (parent.defined() && parent.requires_grad() && seen.insert(parent.node().get()).second)
        nodes.push_back(parent.node());
  }
  std::sort(nodes.begin(), nodes.end(), [](const NodePtr& a, const NodePtr& b) { return a->id > b->id; });
  return nodes;
}

std::vector<Var> leaves_of(const Node& node) {
  std::vector<Var> leaves = node.parents;
  std::erase_if(leaves, [](const Var& v) { return !v.requires_grad() || v.node()->vjp; });
  return leaves;
}

void check_versions(const Node& node) {
  for (size_t i = 0; i < node.parents.size(); ++i)
    if (node.parents[i].defined() && node.parents[i].value().version() != node.versions[i])
      fail("backward: operand {} of {} {} was written in place after it was used", i, node.op,
           node.parents[i].value().str());
  if (node.value.version() != node.versions.back())
    fail("backward: the result of {} {} was written in place", node.op, node.value.str());
}

/// The one place where a gradient is checked and summed back to the shape of a broadcast operand.
Tensor fit(const Node& node, size_t i, const Tensor& g) {
  const Tensor& value = node.parents[i].value();
  const engine::DType wanted = node.parents[i].grad_dtype();
  const bool is_known = g.dtype() == wanted || g.dtype() == value.dtype();
  if (!is_known || g.device() != value.device() || !engine::broadcasts_to(value.shape(), g.shape()))
    fail("backward: {} gave operand {} {} a gradient of {}", node.op, i, value.str(), g.str());
  if (g.shape() == value.shape()) return g;
  return engine::sum_to(g.dtype() == wanted ? g : g.to(wanted), value.shape());
}

/// True if v's gradient goes, maybe past a residual, to a linear layer whose bias wants the sums over its rows.
bool is_biased(const Var& v) {
  const auto is_layer = [](const Var& x) {
    const bool is_linear = x.requires_grad() && std::string_view(x.node()->op) == "linear";
    return is_linear && x.node()->parents.size() == 3 && x.node()->parents[2].requires_grad();
  };
  if (!v.requires_grad() || v.value().device().is_cpu()) return false;
  if (v.node()->dropout.p > 0) return engine::joins_dropout(v.value()) && is_layer(v.node()->parents[1]);
  const bool is_sum = std::string_view(v.node()->op) == "add";
  return is_layer(v) || (is_sum && std::any_of(v.node()->parents.begin(), v.node()->parents.end(), is_layer));
}

void step_back(Node& node) {
  check_versions(node);
  const Var from = node.parents.empty() ? Var() : node.parents[0];
  engine::JoinedSums::want_columns(is_biased(from));
  const bool drops = from.requires_grad() && engine::joins_dropout(from.value());
  engine::JoinedSums::want_dropout(drops ? from.node()->dropout : engine::Dropout());
  const Needs needs(node.parents);
  Tensor dy = std::move(node.grad);
  node.grad = Tensor();
  std::vector<Tensor> gradients;
  {
    std::optional<engine::SideScope> side;
    if (needs.may_be_aside()) side.emplace();
    gradients = node.vjp(dy, needs);
  }
  require(gradients.size() == node.parents.size(), "backward: {} has {} operands and gave {} gradients", node.op,
          node.parents.size(), gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (needs[i] || !gradients[i].defined()) continue;
    if (!gradients[i].shares_storage(dy)) ++unwanted_gradients_;
    gradients[i] = Tensor();
  }
  dy = Tensor();
  node.vjp = nullptr;
  node.place = nullptr;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!needs[i]) continue;
    require(gradients[i].defined(), "backward: {} gave operand {} no gradient", node.op, i);
    std::optional<engine::SideScope> side;
    if (node.parents[i].may_be_aside()) side.emplace();
    Tensor g = fit(node, i, gradients[i]);
    gradients[i] = Tensor();
    node.parents[i].node()->accumulate(std::move(g));
  }
  node.parents.clear();
  node.consumed = true;
}

}  // namespace

Needs::Needs(const std::vector<Var>& operands) : operands_(operands) {
  for (const Var& operand : operands) wanted_.push_back(operand.defined() && operand.requires_grad());
}

bool Needs::may_be_aside(size_t first) const {
  bool has_any = false;
  for (size_t i = first; i < operands_.size(); ++i) {
    if (!wanted_[i]) continue;
    if (!operands_[i].may_be_aside()) return false;
    has_any = true;
  }
  return has_any;
}

Tensor Needs::take(size_t i) const {
  if (!wanted_[i] || !operands_[i].node()->vjp) return Tensor();
  return std::exchange(operands_[i].node()->grad, Tensor());
}

Node* Needs::sole(size_t i) const {
  if (!wanted_[i]) return nullptr;
  const NodePtr& node = operands_[i].node();
  const auto uses = std::count_if(operands_.begin(), operands_.end(), [&](const Var& v) { return v.node() == node; });
  return uses > 1 ? nullptr : node.get();
}

Tensor Needs::place(size_t i) const {
  const Node* const node = sole(i);
  if (node && node->place && !node->grad.defined()) return node->place();
  return late_place(i);
}

Tensor Needs::late_place(size_t i) const {
  const Node* const node = sole(i);
  return node && node->bound && node->grad_fresh ? node->grad : Tensor();
}

Tensor Needs::present(size_t i) const {
  const Node* const node = sole(i);
  if (!node || !node->bound || node->grad_fresh) return Tensor();
  engine::JoinedSums::finish();
  return node->grad;
}

Tensor Needs::place(size_t first, size_t count) const {
  for (size_t i = first; i < first + count; ++i)
    if (!late_place(i).defined()) return Tensor();
  return joined(std::span(operands_).subspan(first, count), &Node::gradients);
}

Tensor part_of(const Tensor& flat, int64_t offset, const Shape& shape, int64_t row) {
  if (row == 0) return flat.slice(0, offset, offset + shape.numel()).reshape(shape);
  return flat.slice(0, offset, offset + shape[0] * row).reshape({shape[0], row}).slice(1, 0, shape[1]);
}

Tensor neighbours(std::span<const Var> leaves) { return joined(leaves, &Node::values); }

Var::Var(Tensor value, bool requires_grad) {
  if (requires_grad && !(value.defined() && engine::is_floating(value.dtype())))
    fail("var: {} cannot have a gradient", value.str());
  if (!value.defined()) return;
  node_ = std::make_shared<Node>();
  node_->grad_dtype = value.dtype();
  node_->value = std::move(value);
  node_->requires_grad = requires_grad;
}

const Tensor& Var::value() const {
  static const Tensor undefined;
  return node_ ? node_->value : undefined;
}

bool Var::requires_grad() const { return node_ && node_->requires_grad; }

void Var::set_requires_grad(bool required) const {
  require(defined() && !node_->vjp, "set_requires_grad: {} is no leaf", value());
  require(engine::is_floating(value().dtype()), "set_requires_grad: {} cannot have a gradient", value());
  require(!is_bound(), "set_requires_grad: {} is in an optimizer's arena: call this before", value());
  node_->requires_grad = required;
}

Tensor Var::grad() const { return node_ && !node_->grad_fresh ? node_->grad : Tensor(); }

void Var::zero_grad() const {
  require(defined(), "zero_grad: undefined where a value was expected");
  if (node_->bound) node_->grad_fresh = true;
  else node_->grad = Tensor();
}

void Var::keep_grad() const {
  require(defined() && node_->bound, "keep_grad: no leaf that is in an arena");
  node_->grad_fresh = false;
}

engine::DType Var::grad_dtype() const {
  require(defined(), "grad_dtype: undefined where a value was expected");
  return node_->grad_dtype;
}

bool Var::may_be_aside() const { return engine::side_stream() && requires_grad() && !node_->vjp; }

void Var::drops(const engine::Dropout& dropout) const {
  if (requires_grad()) node_->dropout = dropout;
}

bool Var::is_bound() const { return node_ && node_->bound && !node_->binder.expired(); }

void Var::bind(const Tensor& value, const Tensor& grad, std::weak_ptr<const void> owner) const {
  require(defined() && node_->vjp == nullptr && node_->parents.empty(), "bind: {} is not a leaf", value);
  require(!is_bound(), "bind: {} is in an arena already", value);
  require(value.shape() == shape() && grad.shape() == shape(), "bind: leaf {}, value {}, gradient {}", shape(), value,
          grad);
  require(engine::is_floating(value.dtype()) && engine::is_floating(grad.dtype()), "bind: value {}, gradient {}", value,
          grad);
  node_->value = value;
  node_->grad = grad;
  node_->grad_dtype = grad.dtype();
  node_->binder = std::move(owner);
  node_->bound = node_->grad_fresh = true;
  node_->values = node_->gradients = Tensor();
}

void Var::bind(const Tensor& values, const Tensor& gradients, int64_t offset, std::weak_ptr<const void> owner,
               int64_t row) const {
  bind(part_of(values, offset, shape(), row), part_of(gradients, offset, shape(), row), std::move(owner));
  node_->values = values, node_->gradients = gradients, node_->offset = offset;
}

void Var::backward(const Finished& finished) const {
  require(value().numel() == 1, "backward: {} has more than one element and no cotangent was given", value());
  backward(Tensor::full(shape(), 1.0, grad_dtype(), value().device()), finished);
}

void Var::backward(const Tensor& dy, const Finished& finished) const {
  require(requires_grad(), "backward: nothing that {} depends on requires a gradient", value());
  if (!dy.defined() || dy.shape() != shape() || dy.dtype() != grad_dtype())
    fail("backward: value {}, cotangent {}", value().str(), dy.str());
  const NoGrad no_grad;
  std::vector<NodePtr> nodes = reachable(node_);
  for (const NodePtr& node : nodes)
    require(!node->consumed, "backward: the graph through {} was already freed by an earlier backward", node->op);
  std::unordered_map<const Node*, int64_t> uses;  // of each leaf that are still to come
  if (finished)
    for (const NodePtr& node : nodes)
      for (const Var& leaf : leaves_of(*node)) ++uses[leaf.node().get()];
  std::optional<engine::JoinedSums> joined;
  if (!finished) joined.emplace();
  node_->accumulate(dy);
  try {
    for (NodePtr& node : nodes) {
      const std::vector<Var> leaves = finished ? leaves_of(*node) : std::vector<Var>();
      if (node->vjp) step_back(*node);
      node.reset();
      for (const Var& leaf : leaves)
        if (--uses[leaf.node().get()] == 0) finished(leaf);
    }
    engine::join_side();
    engine::JoinedSums::finish();
  } catch (...) {
    // Gradients still on their way through the graph must not be counted again by a later backward.
    for (const NodePtr& node : nodes)
      if (node && node->vjp) node->grad = Tensor();
    throw;
  }
}

int64_t unwanted_gradients() { return unwanted_gradients_; }

Var detail::record(const char* op, Tensor value, std::vector<Var> parents, BoundVjp vjp,
                   std::function<Tensor()> place) {
  require(value.defined(), "{}: the result is undefined", op);
  Var out(std::move(value));
  if (captured_)
    for (const Var& parent : parents)
      if (parent.requires_grad()) captured_->push_back({parent, parent.value().version()});
  if (!grad_enabled() || std::none_of(parents.begin(), parents.end(), [](const Var& p) { return p.requires_grad(); }))
    return out;
  Node& node = *out.node_;
  node.requires_grad = true;
  node.op = op;
  for (const Var& parent : parents) node.versions.push_back(parent.defined() ? parent.value().version() : 0);
  node.versions.push_back(node.value.version());
  node.parents = std::move(parents);
  node.vjp = std::move(vjp);
  node.place = std::move(place);
  return out;
}

Var checkpoint(const std::function<Var(const std::vector<Var>&)>& f, const std::vector<Var>& inputs) {
  require(f != nullptr, "checkpoint: no function");
  Tensor value;
  std::vector<Captured> captured;
  {
    const NoGrad no_grad;
    struct Capture {
      std::vector<Captured>* previous;
      explicit Capture(std::vector<Captured>* into) : previous(std::exchange(captured_, into)) {}
      ~Capture() { captured_ = previous; }
    } capture(&captured);
    std::vector<Var> constants;
    for (const Var& input : inputs) constants.push_back(input.defined() ? input.detach() : Var());
    value = f(constants).value();
  }
  // A leaf that f captures gets its gradient from the inner backward. The token makes the tape call the vjp even when
  // no input needs one, and come to those leaves, as operands of its own, when the vjp is through with them.
  std::vector<Var> parents = inputs;
  parents.emplace_back(Tensor::zeros({}), true);
  for (const Captured& each : captured) {
    if (each.var.node()->vjp) fail("checkpoint: {} is computed outside and must be an input", each.var.value().str());
    if (captured_) captured_->push_back(each);
    parents.back().node()->parents.push_back(each.var);
  }
  return detail::record("checkpoint", value, parents,
                        [f, inputs, captured, value](const Tensor& dy, const Needs& needs) {
                          for (const Captured& each : captured)
                            if (each.var.value().version() != each.version)
                              fail("backward: {}, which checkpoint captures, was written in place after it was used",
                                   each.var.value().str());
                          engine::Context recording = engine::context();
                          recording.records = true;
                          const engine::ContextScope scope(recording);
                          std::vector<Var> leaves;
                          for (size_t i = 0; i < inputs.size(); ++i) {
                            leaves.push_back(inputs[i].defined() ? Var(inputs[i].value(), needs[i]) : Var());
                            if (inputs[i].defined()) leaves[i].node()->grad_dtype = inputs[i].grad_dtype();
                          }
                          const Var again = f(leaves);
                          require(same_bits(again.value(), value),
                                  "backward: checkpoint's function gave another {} than before: it is not pure, or "
                                  "what it captures was written "
                                  "in place after it was used",
                                  value);
                          if (again.requires_grad()) again.backward(dy);
                          std::vector<Tensor> gradients;
                          for (size_t i = 0; i < leaves.size(); ++i) {
                            Tensor g = needs[i] ? leaves[i].grad() : Tensor();
                            if (needs[i] && !g.defined())
                              g = Tensor::zeros(leaves[i].shape(), leaves[i].grad_dtype(), leaves[i].value().device());
                            gradients.push_back(g);
                          }
                          gradients.push_back(Tensor::zeros({}));
                          return gradients;
                        });
}

}  // namespace headroom::autograd
