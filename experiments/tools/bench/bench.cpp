#include "experiments/tools/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "engine/allocator.h"
#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/transfer.h"
#include "experiments/studies/analysis/statistics.h"
#include "experiments/studies/run/side_by_side.h"
#include "experiments/version.h"
#include "models/transformer.h"
#include "tasks/training/trainer.h"

namespace headroom::experiments {
namespace {

using autograd::Tensor;
using autograd::Var;
using SteadyClock = std::chrono::steady_clock;

/// Random sequences of a workload, the same in every step.
tasks::Batch random_batch(const Workload& workload, engine::DType dtype) {
  engine::Rng rng(0);
  const models::TransformerConfig& model = workload.model;
  const int64_t batch = workload.batch, length = workload.length, tokens = batch * length;
  const char* data = "data";
  if (workload.objective == Objective::mse) {
    const engine::Shape shape{batch, length, model.input_dim};
    return {engine::random_normal(shape, rng, data, 0, 1, dtype), engine::random_normal(shape, rng, data, 0, 1, dtype)};
  }
  const Tensor input = engine::random_integers({batch, length}, rng, data, 0, model.vocab);  // (B, T)
  if (workload.objective == Objective::classify)
    return {input, engine::random_integers({batch}, rng, data, 0, model.output_dim)};
  std::vector<int64_t> target =
      engine::random_integers({batch, length}, rng, data, 0, model.vocab).to_vector<int64_t>();
  if (workload.objective == Objective::mlm) {
    const engine::RngKey mask = rng.take(data, tokens);
    constexpr double share = 0.15 * 4294967296.0;  // of the tokens is predicted
    for (size_t i = 0; i < target.size(); ++i)
      if (engine::random_bits(mask, i) > share) target[i] = tasks::ignore_index;
  }
  return {input, Tensor::from({batch, length}, target)};
}

class RandomData final : public tasks::Objective {
 public:
  RandomData(const Workload& workload, engine::DType dtype, engine::Device device)
      : is_regression_(workload.objective == experiments::Objective::mse),
        batch_(random_batch(workload, dtype).to(device)) {}
  tasks::Batch train_batch(int64_t, int64_t, engine::Rng&) const override { return batch_; }
  Var loss(const Var& output, const tasks::Batch& batch) const override {
    return is_regression_ ? autograd::mse(output, Var(batch.target)) : autograd::cross_entropy(output, batch.target);
  }
  const tasks::Batch& batch() const { return batch_; }

 private:
  const bool is_regression_;
  const tasks::Batch batch_;
};

/// AdamW as it is used most; no gradient norm, which nothing asks for.
tasks::TrainerConfig settings(const Workload& workload, const BenchOptions& options) {
  tasks::TrainerConfig config;
  config.optimizer.lr = 1e-3;
  config.optimizer.weight_decay = 0.1;
  config.batch = workload.batch;
  config.measures_norm = false;
  config.device = options.device;
  config.bf16_weights = tasks::has_bf16_weights(options.precision, options.device);
  config.records = !options.eager && !options.profiled;
  if (!options.device.is_cpu()) config.read_every = 1024;  // nobody asks for the loss
  return config;
}

/// Milliseconds of each step, at least five of them, until `seconds` are over. A device's are the times between marks
/// on its stream, as its work passes them: the host waits for every fifth step only.
std::vector<double> step_times(engine::Device device, double seconds, const std::function<void()>& step) {
  const auto ms_since = [](SteadyClock::time_point t) {
    return std::chrono::duration<double, std::milli>(SteadyClock::now() - t).count();
  };
  const engine::DeviceTimes device_times = device.is_cpu() ? engine::DeviceTimes{} : engine::backend_of(device).times;
  std::vector<double> times;
  const auto begin = SteadyClock::now();
  while (times.size() < 5 || ms_since(begin) < seconds * 1e3) {
    if (!device_times.mark) {
      const auto t = SteadyClock::now();
      step();
      engine::synchronize(device);
      times.push_back(ms_since(t));
      continue;
    }
    std::vector<void*> marks{device_times.mark(engine::context().stream)};
    for (int i = 0; i < 5; ++i) {
      step();
      marks.push_back(device_times.mark(engine::context().stream));
    }
    engine::synchronize(device);
    for (size_t i = 1; i < marks.size(); ++i) times.push_back(1e-3 * device_times.microseconds(marks[i - 1], marks[i]));
    for (void* mark : marks) device_times.forget(mark);
  }
  return times;
}

/// One training of the workload, on a stream of its own. Each copy draws the same weights and data.
class Copy {
 public:
  Copy(const Workload& workload, const BenchOptions& options)
      : options_(options),
        stream_(options.device),
        on_stream_(std::in_place, stream_.handle()),
        model_([&]() -> models::Transformer {
          const engine::DeviceScope scope(options.device);
          return {workload.model, rng_, options.dtype};
        }()),
        data_(workload, options.dtype, options.device),
        trainer_(model_, data_, settings(workload, options), rng_) {
    on_stream_.reset();
  }

  void steps(int count) {
    const engine::StreamScope on_stream(stream_.handle());
    for (int i = 0; i < count; ++i) step();
    engine::synchronize(options_.device);
  }
  void time() {
    const engine::StreamScope on_stream(stream_.handle());
    begin_ = SteadyClock::now();
    times_ = step_times(options_.device, options_.seconds, [this] { step(); });
    end_ = SteadyClock::now();
  }
  std::vector<engine::ProfiledOp> profile(int count) {
    const engine::StreamScope on_stream(stream_.handle());
    const engine::Profile profile(options_.device);
    for (int i = 0; i < count; ++i) step();
    return profile.ops();
  }

  const std::vector<double>& times() const { return times_; }
  SteadyClock::time_point begin() const { return begin_; }
  SteadyClock::time_point end() const { return end_; }
  const tasks::Trainer& trainer() const { return trainer_; }
  int64_t parameter_count() const { return model_.parameter_count(); }

 private:
  void step() {
    if (options_.forward_only) trainer_.loss(data_.batch());
    else trainer_.step();
  }

  const BenchOptions& options_;
  const engine::DeviceStream stream_;
  std::optional<engine::StreamScope> on_stream_;  ///< while the members below are made
  engine::Rng rng_{0};
  const models::Transformer model_;
  const RandomData data_;
  tasks::Trainer trainer_;
  std::vector<double> times_{};  ///< milliseconds of each step
  SteadyClock::time_point begin_{}, end_{};
};

double per_second(size_t steps, SteadyClock::time_point begin, SteadyClock::time_point end) {
  return static_cast<double>(steps) / std::chrono::duration<double>(end - begin).count();
}

/// Each copy in a thread of its own, as `run --jobs` has them.
void time_copies(std::deque<Copy>& copies) {
  const engine::Context context = engine::context();
  std::mutex mutex;
  std::exception_ptr error;
  const int count = side_by_side(static_cast<int>(copies.size()), [&](int i) {
    try {
      const engine::ContextScope inherited(context);
      Copy& copy = copies[static_cast<size_t>(i)];
      copy.steps(1);  // starts this thread's workers
      copy.time();
    } catch (...) {
      const std::lock_guard lock(mutex);
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  require(count == std::ssize(copies), "bench: the system starts only {} threads of {}", count, copies.size());
}

}  // namespace

BenchResult bench(const Workload& workload, const BenchOptions& options) {
  const int threads = options.threads > 0 ? options.threads : engine::num_threads();
  const engine::ThreadScope scope(std::max(1, threads / options.copies));
  const engine::PrecisionScope precision(options.precision);
  const engine::Device device = options.device;
  engine::check_device(device);
  require(options.copies == 1 || !options.profiled, "bench: a profile is of one copy");
  std::deque<Copy> copies;
  for (int i = 0; i < options.copies; ++i) copies.emplace_back(workload, options).steps(2);
  engine::reset_peak(device);
  const auto system_allocations = [&] {
    int64_t sum = engine::allocator_stats(device).system_allocations;
    for (const Copy& copy : copies) sum += copy.trainer().step_memory().system_allocations;
    return sum;
  };
  const int64_t allocations = system_allocations();
  for (Copy& copy : copies) copy.steps(1);

  Copy& first = copies.front();
  if (options.copies == 1) first.time();
  else time_copies(copies);
  std::vector<double> times, rates;
  SteadyClock::time_point begin = first.begin(), end = first.end();
  int64_t peak = engine::allocator_stats(device).peak;
  for (const Copy& copy : copies) {
    times.insert(times.end(), copy.times().begin(), copy.times().end());
    rates.push_back(per_second(copy.times().size(), copy.begin(), copy.end()));
    begin = std::min(begin, copy.begin());
    end = std::max(end, copy.end());
    peak += copy.trainer().step_memory().peak;
  }
  const double ms_median = median(times);
  std::vector<engine::ProfiledOp> ops;
  constexpr int profiled_steps = 3;
  if (options.profiled) ops = first.profile(profiled_steps);
  BenchResult result{.workload = workload.name,
                     .dtype = options.dtype,
                     .device = device,
                     .is_recorded = first.trainer().is_recorded(),
                     .threads = engine::num_threads(),
                     .forward_only = options.forward_only,
                     .steps = std::ssize(times),
                     .ms_min = *std::min_element(times.begin(), times.end()),
                     .ms_median = ms_median,
                     .tokens_per_second = static_cast<double>(workload.batch * workload.length) / ms_median * 1e3,
                     .steps_per_second = per_second(times.size(), begin, end),
                     .steps_per_second_of_each = std::move(rates),
                     .parameters = first.parameter_count(),
                     .peak_bytes = peak,
                     .system_allocations = system_allocations() - allocations,
                     .ops = std::move(ops)};
  if (options.profiled) {
    std::optional<Rates> best;
    if (device.is_cpu() && options.dtype == engine::DType::f32) best = measured_rates(result.peak_bytes);
    result.profile = profile_table(result.ops, profiled_steps, best ? &*best : nullptr);
  }
  return result;
}

std::string to_json(const BenchResult& r) {
  const auto thousandths = [](double x) { return std::round(x * 1e3) / 1e3; };
  std::vector<double> each;
  for (const double rate : r.steps_per_second_of_each) each.push_back(thousandths(rate));
  nlohmann::ordered_json json{{"workload", r.workload},
                              {"peer", "headroom-" + version()},
                              {"mode", r.is_recorded ? "graph" : "eager"},
                              {"dtype", engine::name_of(r.dtype)},
                              {"device", r.device.str()},
                              {"threads", r.threads},
                              {"forward_only", r.forward_only},
                              {"steps", r.steps},
                              {"ms_min", thousandths(r.ms_min)},
                              {"ms_median", thousandths(r.ms_median)},
                              {"tokens_per_s", std::llround(r.tokens_per_second)},
                              {"copies", each.size()},
                              {"steps_per_s", thousandths(r.steps_per_second)},
                              {"steps_per_s_of_each", each},
                              {"params", r.parameters},
                              {"peak_bytes", r.peak_bytes},
                              {"system_allocations", r.system_allocations}};
  if (r.profile) json.update(profile_json(*r.profile));
  if (r.step_over_floor() > 0) json["step_over_floor"] = thousandths(r.step_over_floor());
  return json.dump();
}

}  // namespace headroom::experiments
