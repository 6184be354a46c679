#include "tasks/training/trainer.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/transfer.h"

namespace headroom::tasks {
namespace {

/// The stream that a forward pass draws from.
constexpr const char* dropout_stream = "dropout";

/// Sets `decays` of the parameters whose names match one of the patterns.
void decide(std::vector<autograd::Parameter>& parameters, const std::vector<std::string>& patterns, const char* key,
            bool decays) {
  for (const std::string& pattern : patterns) {
    bool is_used = false;
    for (autograd::Parameter& parameter : parameters) {
      if (fnmatch(pattern.c_str(), parameter.name.c_str(), 0) != 0) continue;
      parameter.decays = decays;
      is_used = true;
    }
    require(is_used, "optimizer.{}: '{}' matches no parameter; there is {} and {} more", key, pattern,
            parameters.front().name, parameters.size() - 1);
  }
}

int size_of(const Ranks* ranks) { return ranks ? ranks->size() : 1; }

autograd::ParameterArena arena_of(const models::Module& model, const TrainerConfig& config) {
  require(config.batch >= 1, "trainer: a batch of {} sequences", config.batch);
  require(config.accumulate >= 1, "trainer: a batch in {} parts", config.accumulate);
  require(config.clip >= 0, "trainer: gradients clipped to a norm of {}", config.clip);
  if (config.parts > 1 || config.ranks) {
    check_shares(config.parts, size_of(config.ranks));
    require(config.batch % config.parts == 0, "trainer: {} parts do not divide a batch of {}", config.parts,
            config.batch);
    require(config.accumulate == 1, "trainer: a batch in {} parts is not cut into {} more", config.parts,
            config.accumulate);
  }
  require(config.read_every >= 1, "trainer: state read every {} steps", config.read_every);
  std::vector<autograd::Parameter> parameters = model.parameters();
  decide(parameters, config.decay, "decay", true);
  decide(parameters, config.no_decay, "no_decay", false);
  return autograd::ParameterArena(std::move(parameters), {.device = config.device, .has_copies = config.bf16_weights});
}

int64_t part_size(int64_t sequences, const TrainerConfig& config) {
  const int64_t parts = std::max(config.accumulate, config.parts);
  return (sequences + parts - 1) / parts;
}

/// Targets that count in a batch's loss: classes that are not ignored; else sequences.
double scored(const Batch& batch) {
  if (batch.target.dtype() != engine::DType::i64) return static_cast<double>(batch.target.dim(0));
  const Tensor target = batch.target.contiguous();  // (B, T) or (B)
  const auto* classes = target.data<int64_t>();
  const int64_t ignored = std::count(classes, classes + target.numel(), ignore_index);
  return static_cast<double>(target.numel() - ignored);
}

/// The weights of a batch's parts in its loss: {1} for a whole one.
std::vector<double> shares_of(const Batch& batch, const TrainerConfig& config) {
  const int64_t sequences = batch.input.dim(0), size = part_size(sequences, config);
  if (size >= sequences) return {1.0};
  const double all = scored(batch);
  std::vector<double> shares;
  for (int64_t begin = 0; begin < sequences; begin += size)
    shares.push_back(scored(batch.slice(begin, std::min(sequences, begin + size))) / all);
  return shares;
}

/// The keys of a stream are relative to a step's state while this lives; those taken afterwards, for a loss outside of
/// a step, must not point into it, and are no part's.
class RelativeKeys {
 public:
  RelativeKeys(engine::Rng& rng, const char* stream, const Tensor& state) : rng_(rng), stream_(stream) {
    rng_.set_base(stream_, engine::random_base(state), rng_.next(stream_));
  }
  ~RelativeKeys() {
    rng_.set_base(stream_, nullptr, 0);
    rng_.set_lane(stream_, 0);
  }
  RelativeKeys(const RelativeKeys&) = delete;
  RelativeKeys& operator=(const RelativeKeys&) = delete;

 private:
  engine::Rng& rng_;
  const char* stream_;
};

}  // namespace

Trainer::Trainer(const models::Transformer& model, const Objective& objective, const TrainerConfig& config,
                 engine::Rng rng)
    : Trainer(
          model, objective,
          [&model, &objective](const Batch& batch, const auto& context) {
            return objective.loss_of(model, batch, context);
          },
          config, std::move(rng)) {}

Trainer::Trainer(const models::Module& model, Forward forward, const Objective& objective, const TrainerConfig& config,
                 engine::Rng rng)
    : Trainer(
          model, objective,
          [&objective, run = std::move(forward)](const Batch& batch, const auto& context) {
            return objective.loss(run(batch.input, context), batch);
          },
          config, std::move(rng)) {}

Trainer::Trainer(const models::Module& model, const Objective& objective, LossOf loss_of, const TrainerConfig& config,
                 engine::Rng rng)
    : model_(model),
      objective_(objective),
      loss_of_(std::move(loss_of)),
      config_(config),
      rng_(std::move(rng)),
      arena_(arena_of(model, config)),
      optimizer_(autograd::make_optimizer(config.optimizer, arena_)),
      schedule_(
          autograd::make_schedule(config.schedule.empty() ? std::vector{autograd::ScheduleConfig{}} : config.schedule)),
      sum_(arena_.gradients(), config.parts / size_of(config.ranks)),
      buckets_(size_of(config.ranks) > 1 ? buckets_of(arena_, model.parameters()) : std::vector<Bucket>()),
      rates_(Tensor::empty({config.read_every}, engine::DType::f64, config.device)),
      shares_(Tensor::empty({std::max(config.accumulate, config.parts)}, engine::DType::f64, config.device)),
      recorded_(config.note) {
  state_.random_offset = rng_.next(dropout_stream);
  engine::write_step_state(optimizer_->step_state(), state_);
}

Var Trainer::loss(const Batch& batch) {
  return loss_of_(batch, {.training = true, .rng = &rng_, .key_mask = batch.key_mask});
}

void Trainer::plan_rates() {
  if (steps_done_ < rates_end_) return;
  std::vector<double> rates(static_cast<size_t>(config_.read_every));
  rates_end_ = steps_done_ + config_.read_every;
  for (int64_t step = steps_done_; step < rates_end_; ++step)
    rates[static_cast<size_t>(step % config_.read_every)] = config_.optimizer.lr * schedule_->factor(step);
  engine::copy_bytes(rates_.device(), rates_.mutable_raw(), engine::cpu, rates.data(), rates.size() * sizeof(double));
}

void Trainer::write_shares(const std::vector<double>& shares) {
  if (shares == shares_there_) return;
  engine::copy_bytes(shares_.device(), shares_.mutable_raw(), engine::cpu, shares.data(),
                     shares.size() * sizeof(double));
  shares_there_ = shares;
}

void Trainer::set_draws(uint64_t count) {
  if (count == state_.random_count) return;
  engine::StepState values = engine::read_step_state(optimizer_->step_state());
  values.random_count = state_.random_count = count;
  engine::write_step_state(optimizer_->step_state(), values);
}

Tensor Trainer::run_part(const Batch& batch, size_t parts, size_t i, const std::function<void(Phase)>& done,
                         const Var::Finished& finished) {
  const int64_t sequences = batch.input.dim(0), size = part_size(sequences, config_);
  const auto at = static_cast<int64_t>(i);
  Var part_loss = loss(parts == 1 ? batch : batch.slice(at * size, std::min(sequences, (at + 1) * size)));
  if (parts > 1) part_loss = part_loss * Var(shares_.slice(0, at, at + 1).reshape({}).to(part_loss.value().dtype()));
  done(Phase::forward);
  part_loss.backward(finished);
  done(Phase::backward);
  return part_loss.value();
}

Trainer::OwnParts Trainer::run_own_parts(const Batch& batch, const std::vector<double>& shares,
                                         const std::function<void(Phase)>& done) {
  require(std::ssize(shares) == config_.parts && batch.input.dim(0) % config_.parts == 0,
          "trainer: {} parts do not divide a batch of {}", config_.parts, batch.input.dim(0));
  const int64_t count = config_.parts / size_of(config_.ranks);
  const bool is_shared = count < config_.parts;
  const size_t first = config_.ranks ? static_cast<size_t>(count * config_.ranks->rank()) : 0;
  const uint64_t start = rng_.next(dropout_stream);
  std::optional<OverlappedSum> overlapped;
  Var::Finished finished;
  OwnParts own;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    rng_.set_lane(dropout_stream, static_cast<int64_t>(first + i));
    rng_.set_next(dropout_stream, start);
    arena_.zero_grad();
    if (is_shared && config_.device.is_cpu() && static_cast<int64_t>(i) + 1 == count) {
      overlapped.emplace(*config_.ranks, arena_, sum_, static_cast<int64_t>(i), buckets_);
      finished = [&](const Var& leaf) { overlapped->finish(leaf); };
    }
    own.losses.push_back(shares[first + i] == 0 ? Tensor::zeros({}, engine::DType::f64, config_.device)
                                                : run_part(batch, shares.size(), first + i, done, finished));
    own.drawn = std::max(own.drawn, rng_.next(dropout_stream) - start);
    if (!overlapped) sum_.add(arena_.gradients(), static_cast<int64_t>(i));
  }
  if (overlapped) overlapped->wait();
  own.is_summed = overlapped.has_value();
  arena_.keep_gradients();
  rng_.set_next(dropout_stream, start);
  return own;
}

void Trainer::sum_parts(OwnParts own) {
  if (size_of(config_.ranks) > 1) {
    std::vector<double> numbers{static_cast<double>(own.drawn)};
    for (const Tensor& loss : own.losses) numbers.push_back(loss.item());
    const std::vector<double> all = gathered(*config_.ranks, numbers);
    own.losses.clear();
    for (size_t i = 0; i < all.size(); ++i)
      if (i % numbers.size() == 0) own.drawn = std::max(own.drawn, static_cast<uint64_t>(all[i]));
      else own.losses.push_back(Tensor::full({}, all[i], engine::DType::f64, config_.device));
    if (!own.is_summed) sum_over(*config_.ranks, arena_.gradients());
  }
  for (const Tensor& loss : own.losses) engine::step_loss_inplace(optimizer_->step_state(), loss);
  rng_.set_next(dropout_stream, rng_.next(dropout_stream) + own.drawn);
}

void Trainer::begin_step(const Tensor& state) {
  engine::step_begin_inplace(state, rates_);
  arena_.zero_grad();
}

void Trainer::end_step(const Tensor& state, uint64_t random_start, const std::function<void(Phase)>& done) {
  if (config_.measures_norm || config_.clip > 0) engine::step_norm_inplace(state, arena_.gradients(), config_.clip);
  optimizer_->update();
  done(Phase::update);
  set_draws(rng_.next(dropout_stream) - random_start);
  engine::step_end_inplace(state);
}

void Trainer::run_step(const Batch& batch, const std::vector<double>& shares,
                       const std::function<void(Phase)>& on_phase) {
  const auto done = [&](Phase phase) {
    if (on_phase) on_phase(phase);
  };
  const Tensor& state = optimizer_->step_state();
  const uint64_t random_start = rng_.next(dropout_stream);
  const RelativeKeys keys(rng_, dropout_stream, state);
  begin_step(state);
  done(Phase::batch);
  if (config_.parts > 1) {
    sum_parts(run_own_parts(batch, shares, done));
  } else {
    for (size_t i = 0; i < shares.size(); ++i)
      if (shares[i] != 0) engine::step_loss_inplace(state, run_part(batch, shares.size(), i, done));
  }
  end_step(state, random_start, done);
}

void Trainer::record_step(const Batch& batch, const std::vector<double>& shares) {
  const auto offsets = rng_.offsets();
  const auto again = [&] { rng_.set_offsets(offsets); };
  // A step of another shape, run meanwhile, may have drawn more or fewer.
  const bool fits = recorded_.fits(batch);
  if (fits) set_draws(recorded_draws_);
  const engine::Recorder::Turn turn = recorded_.run(
      batch, config_.device, [&](const Batch& there) { run_step(there, shares, {}); }, again);
  if (turn == engine::Recorder::Turn::replayed) rng_.take(dropout_stream, static_cast<int64_t>(recorded_draws_));
  else if (recorded_.fits(batch)) recorded_draws_ = state_.random_count;
}

void Trainer::record_own_parts(const Batch& batch, const std::vector<double>& shares) {
  const auto nothing = [](Phase) {};
  const Tensor& state = optimizer_->step_state();
  const auto offsets = rng_.offsets();
  OwnParts own;
  const auto run = [&](const Batch& there) {
    const RelativeKeys keys(rng_, dropout_stream, state);
    begin_step(state);
    own = run_own_parts(there, shares, nothing);
  };
  const engine::Recorder::Turn turn = recorded_.run(batch, config_.device, run, [&] { rng_.set_offsets(offsets); });
  // A replay writes to the losses of the recording, which are kept for it.
  if (turn == engine::Recorder::Turn::recorded) recorded_parts_ = own;
  if (turn == engine::Recorder::Turn::replayed) own = recorded_parts_;
  const uint64_t random_start = rng_.next(dropout_stream);
  sum_parts(std::move(own));
  end_step(state, random_start, nothing);
}

const engine::StepState& Trainer::step(const std::function<void(Phase)>& on_phase) {
  const Batch batch = objective_.staged(objective_.train_batch(steps_done_, config_.batch, rng_));
  const std::vector<double> shares = shares_of(batch, config_);
  plan_rates();
  write_shares(shares);
  const bool has_empty_part = std::find(shares.begin(), shares.end(), 0.0) != shares.end();
  const bool records = config_.records && !has_empty_part && !on_phase;
  if (!records || !engine::Recording::is_possible(config_.device)) run_step(batch.to(config_.device), shares, on_phase);
  else if (size_of(config_.ranks) == 1) record_step(batch, shares);
  else record_own_parts(batch, shares);
  ++steps_done_;
  return steps_done_ % config_.read_every == 0 ? read_state() : state_;
}

const engine::StepState& Trainer::read_state() { return state_ = engine::read_step_state(optimizer_->step_state()); }

models::NamedTensors Trainer::weights() const {
  const auto held = arena_.named_values();
  const std::map<std::string, Tensor> by_name(held.begin(), held.end());
  models::NamedTensors named;
  for (const models::Parameter& parameter : model_.parameters())
    named.emplace_back(parameter.name, by_name.at(parameter.name));
  return named;
}

void Trainer::observe(double error) {
  schedule_->observe(error);
  rates_end_ = steps_done_;  // those planned ahead are of before
}

Checkpoint Trainer::checkpoint() const { return checkpoint_of(*optimizer_, rng_, steps_done_, schedule_.get()); }

void Trainer::restore(const Checkpoint& checkpoint) {
  steps_done_ = rates_end_ = tasks::restore(checkpoint, *optimizer_, rng_, schedule_.get());
  state_ = engine::read_step_state(optimizer_->step_state());
  state_.random_offset = rng_.next(dropout_stream);
  engine::write_step_state(optimizer_->step_state(), state_);
}

Checkpoint Trainer::read(const std::filesystem::path& path, const std::string& owner) const {
  return load_to_go_on(path, owner, *optimizer_);
}

int64_t Trainer::resume(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) || error) load(path);
  return steps_done_;
}

const char* problem_of(const engine::StepState& state) {
  if (!std::isfinite(state.loss)) return "loss is not finite";
  return std::isfinite(state.gradient_norm) ? nullptr : "gradient is not finite";
}

}  // namespace headroom::tasks
