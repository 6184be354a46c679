// The only file that sees cuDNN: its header-only front end takes the compiler longer than the rest of the engine.
#include "engine/cuda/sdpa.h"

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/allocator.h"
#include "engine/context.h"
#include "engine/cuda/check.h"

/// The front end finds cuDNN's functions through this handle, so that a program without the library works.
namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace headroom::engine::cuda {
namespace {

namespace fe = cudnn_frontend;
using Graph = fe::graph::Graph;
using GraphTensor = std::shared_ptr<fe::graph::Tensor_attributes>;

/// Plans that are kept; when there are more, all are made anew.
constexpr size_t most_plans = 256;

/// cuDNN's own numbers for the tensors of both graphs.
enum Uid : int64_t { q_uid = 1, k_uid, v_uid, y_uid, lse_uid, dy_uid, dq_uid, dk_uid, dv_uid };

/// Throws Error with what the library said of a call.
void check(fe::error_t result, const char* call, int line) {
  if (result.is_bad()) device_failure(call, __FILE__, line, result.get_message().c_str());
}
#define HEADROOM_CUDNN(call) check((call), #call, __LINE__)

struct Found {
  int64_t version = 0;
  std::string status;
};

/// Loads the library from next to the CUDA runtime, or from wherever the system's loader finds it.
Found look() {
  void* const library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char* const why = dlerror();
    return {0, std::string("no cuDNN 9: ") + (why ? why : "libcudnn.so.9 is not there")};
  }
  const auto version_of = reinterpret_cast<size_t (*)()>(dlsym(library, "cudnnGetVersion"));
  if (!version_of) return {0, "libcudnn.so.9 has no cudnnGetVersion"};
  fe::cudnn_dlhandle = library;
  const auto version = static_cast<int64_t>(version_of());
  std::string name = "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
                     std::to_string(version % 100);
  return {version, std::move(name)};
}
const Found& found() {
  static const Found result = look();
  return result;
}

fe::DataType_t type_of(DType dtype) { return dtype == DType::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF; }

/// (B, T, H, d) of these strides as the library sees it: dims (B, H, T, d).
struct Place {
  std::vector<int64_t> dims, strides;
};
Place place(int64_t batch, int64_t length, int64_t heads, int64_t dim, const SdpaProblem::Strides& strides) {
  return {{batch, heads, length, dim}, {strides[0], strides[2], strides[1], 1}};
}
Place contiguous(int64_t batch, int64_t length, int64_t heads, int64_t dim) {
  return place(batch, length, heads, dim, {length * heads * dim, heads * dim, dim});
}

struct Places {
  Place q, k, v, y, lse, dq, dk, dv;
  explicit Places(const SdpaProblem& p)
      : q(place(p.batch, p.queries, p.heads, p.qk_dim, p.q)),
        k(place(p.batch, p.keys, p.kv_heads, p.qk_dim, p.k)),
        v(place(p.batch, p.keys, p.kv_heads, p.v_dim, p.v)),
        y(contiguous(p.batch, p.queries, p.heads, p.v_dim)),
        lse{{p.batch, p.heads, p.queries, 1}, {p.heads * p.queries, p.queries, 1, 1}},
        dq(place(p.batch, p.queries, p.heads, p.qk_dim, p.dq)),
        dk(place(p.batch, p.keys, p.kv_heads, p.qk_dim, p.dk)),
        dv(place(p.batch, p.keys, p.kv_heads, p.v_dim, p.dv)) {}
};

std::unique_ptr<Graph> new_graph(const SdpaProblem& p) {
  auto graph = std::make_unique<Graph>();
  graph->set_io_data_type(type_of(p.dtype))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  return graph;
}

GraphTensor input(Graph& graph, int64_t uid, const Place& place) {
  return graph.tensor(fe::graph::Tensor_attributes().set_uid(uid).set_dim(place.dims).set_stride(place.strides));
}
GraphTensor input_f32(Graph& graph, int64_t uid, const Place& place) {
  GraphTensor tensor = input(graph, uid, place);
  tensor->set_data_type(fe::DataType_t::FLOAT);
  return tensor;
}
void output(const GraphTensor& tensor, int64_t uid, const Place& place) {
  tensor->set_output(true).set_uid(uid).set_dim(place.dims).set_stride(place.strides);
}

/// The front end's options of both directions have the same setters, in two classes.
template <class Options>
Options options_of(const SdpaProblem& p) {
  Options options;
  options.set_attn_scale(static_cast<float>(p.scale));
  if (p.causal && p.queries == p.keys) options.set_causal_mask(true);
  if (p.causal && p.queries != p.keys) options.set_causal_mask_bottom_right(true);
  return options;
}

/// One pass of one problem.
struct Plan {
  std::unique_ptr<Graph> graph;
  int64_t bytes = 0;    ///< that it works in
  std::string refusal;  ///< what the library has against it

  Plan(cudnnHandle_t handle, const SdpaProblem& p, SdpaPass pass) : graph(new_graph(p)) {
    if (pass == SdpaPass::forward) describe_forward(p, Places(p));
    else describe_backward(p, Places(p));
    fe::error_t error = graph->build(handle, {fe::HeurMode_t::A});
    if (!error.is_bad()) error = graph->get_workspace_size(bytes);
    if (error.is_bad()) refusal = error.get_message();
  }

 private:
  void describe_forward(const SdpaProblem& p, const Places& at) {
    Graph& g = *graph;
    const auto options = options_of<fe::graph::SDPA_attributes>(p).set_generate_stats(true);
    const auto [y, lse] = g.sdpa(input(g, q_uid, at.q), input(g, k_uid, at.k), input(g, v_uid, at.v), options);
    output(y, y_uid, at.y);
    output(lse, lse_uid, at.lse);
    lse->set_data_type(fe::DataType_t::FLOAT);
  }

  void describe_backward(const SdpaProblem& p, const Places& at) {
    Graph& g = *graph;
    const auto options = options_of<fe::graph::SDPA_backward_attributes>(p).set_deterministic_algorithm(true);
    const auto [dq, dk, dv] =
        g.sdpa_backward(input(g, q_uid, at.q), input(g, k_uid, at.k), input(g, v_uid, at.v), input(g, y_uid, at.y),
                        input(g, dy_uid, at.y), input_f32(g, lse_uid, at.lse), options);
    output(dq, dq_uid, at.dq);
    output(dk, dk_uid, at.dk);
    output(dv, dv_uid, at.dv);
  }
};

/// The library and its plans on one GPU. A call holds the lock: a handle is for one thread at a time.
class Library {
 public:
  std::mutex mutex;

  /// The plan of a pass that no rule is against.
  const Plan& plan(const SdpaProblem& problem, SdpaPass pass) {
    if (!handle_ && fe::detail::create_handle(&handle_) != CUDNN_STATUS_SUCCESS)
      device_failure("cudnnCreate", __FILE__, __LINE__, "cuDNN does not start");
    const std::pair key(pass, problem);
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    if (plans_.size() >= most_plans) plans_.clear();
    return plans_.try_emplace(key, handle_, problem, pass).first->second;
  }

  void execute(const Plan& plan, int device, std::unordered_map<int64_t, void*> places) {
    std::optional<Block> workspace;
    if (plan.bytes > 0) workspace.emplace(Device{Device::Kind::cuda, device}, static_cast<size_t>(plan.bytes));
    if (fe::detail::set_stream(handle_, static_cast<cudaStream_t>(context().stream)) != CUDNN_STATUS_SUCCESS)
      device_failure("cudnnSetStream", __FILE__, __LINE__, "the stream was refused");
    HEADROOM_CUDNN(plan.graph->execute(handle_, places, workspace ? workspace->address() : nullptr));
  }

 private:
  cudnnHandle_t handle_ = nullptr;
  std::map<std::pair<SdpaPass, SdpaProblem>, Plan> plans_;
};

int present_device() {
  int index = 0;
  HEADROOM_CUDA(cudaGetDevice(&index));
  return index;
}

int capability_of(int device) {
  int major = 0, minor = 0;
  HEADROOM_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  HEADROOM_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return 10 * major + minor;
}

/// Never destroyed: the driver may be gone when static objects are.
Library& library_of(int device) {
  static std::mutex mutex;
  static auto* const all = new std::map<int, Library>;
  const std::lock_guard lock(mutex);
  return (*all)[device];
}

/// The library's interface takes addresses that it only reads as if it wrote there.
void* read_only(const void* address) { return const_cast<void*>(address); }

}  // namespace

const std::string& sdpa_status() { return found().status; }

std::string sdpa_refusal(const SdpaProblem& problem, SdpaPass pass) {
  if (found().version == 0) return found().status;
  const int device = present_device();
  if (std::string rule = sdpa_rule_against(problem, pass, found().version, capability_of(device)); !rule.empty())
    return rule;
  Library& library = library_of(device);
  const std::lock_guard lock(library.mutex);
  return library.plan(problem, pass).refusal;
}

void sdpa_forward(const SdpaProblem& problem, const SdpaOperands& o) {
  const int device = present_device();
  Library& library = library_of(device);
  const std::lock_guard lock(library.mutex);
  library.execute(
      library.plan(problem, SdpaPass::forward), device,
      {{q_uid, read_only(o.q)}, {k_uid, read_only(o.k)}, {v_uid, read_only(o.v)}, {y_uid, o.y}, {lse_uid, o.lse}});
}

void sdpa_backward(const SdpaProblem& problem, const SdpaGradOperands& o) {
  const int device = present_device();
  Library& library = library_of(device);
  const std::lock_guard lock(library.mutex);
  library.execute(library.plan(problem, SdpaPass::backward), device,
                  {{q_uid, read_only(o.q)},
                   {k_uid, read_only(o.k)},
                   {v_uid, read_only(o.v)},
                   {y_uid, read_only(o.y)},
                   {dy_uid, read_only(o.dy)},
                   {lse_uid, read_only(o.lse)},
                   {dq_uid, o.dq},
                   {dk_uid, o.dk},
                   {dv_uid, o.dv}});
}

}  // namespace headroom::engine::cuda
