#include <cmath>

#include "autograd/ops.h"
#include "autograd/optim/optimizer.h"
#include "autograd/optim/schedule.h"
#include "engine/error.h"
#include "engine/linalg/svd.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/scale/scale.h"
#include "engine/optim/step_state.h"
#include "engine/optim/update.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

using namespace headroom;
using namespace headroom::autograd;
using testing::contains;
using testing::distance;
using Values = std::vector<double>;

namespace {

/// What PyTorch ends with: see optim_fixture.py.
const std::map<std::string, Values> torch_results{
#include "tests/autograd/optim_fixture.inc"
};

OptimizerConfig config_of(const std::string& name) {
  OptimizerConfig c;
  c.kind = name.substr(0, name.find(' '));
  c.lr = 0.1;
  if (name == "sgd momentum" || name == "sgd nesterov") c.momentum = 0.9;
  c.nesterov = name == "sgd nesterov";
  if (name == "sgd decay") c.momentum = 0.5, c.weight_decay = 0.02;
  if (name == "adam decay") c.beta1 = 0.8, c.beta2 = 0.95, c.eps = 1e-6, c.weight_decay = 0.02;
  if (name == "adamw") c.beta2 = 0.99, c.weight_decay = 0.1;
  return c;
}

/// The parameters and the loss of optim_fixture.py.
struct Work {
  Var a, b;
  ParameterArena arena;
  explicit Work(engine::DType dtype)
      : a(Tensor::from<double>({3}, {0.5, -1.0, 2.0}).to(dtype), true),
        b(Tensor::from<double>({2}, {0.25, -0.125}).to(dtype), true),
        arena({{"b", b, false}, {"a", a, true}}) {}
  void step(Optimizer& optimizer, double lr) {
    arena.zero_grad();
    (scale(sum(a * a), 0.5) + sum(exp(b)) + sum(slice(a, 0, 0, 2) * b)).backward();
    optimizer.step(lr);
  }
};

}  // namespace

TEST_CASE("optimizers: four steps as PyTorch takes them") {
  for (const auto& [name, want] : torch_results)
    for (const auto& [dtype, tolerance] : {std::pair{engine::DType::f64, 1e-13}, std::pair{engine::DType::f32, 2e-6}}) {
      INFO(name << " " << engine::name_of(dtype));
      Work problem(dtype);
      const auto optimizer = make_optimizer(config_of(name), problem.arena);
      for (int i = 0; i < 4; ++i) problem.step(*optimizer, 0.1);
      Values got = problem.a.value().to_vector<double>();
      for (const double x : problem.b.value().to_vector<double>()) got.push_back(x);
      for (size_t i = 0; i < want.size(); ++i) CHECK(std::fabs(got[i] - want[i]) < tolerance);
    }
}

TEST_CASE("optimizers: state saved and loaded continues with the same bits") {
  for (const char* name : {"sgd momentum", "adam", "adamw"}) {
    Work whole(engine::DType::f32), first(engine::DType::f32);
    const auto one = make_optimizer(config_of(name), whole.arena), two = make_optimizer(config_of(name), first.arena);
    for (int i = 0; i < 2; ++i) whole.step(*one, 0.1), first.step(*two, 0.1);
    Work resumed(engine::DType::f32);
    engine::copy_inplace(resumed.arena.values(), first.arena.values());
    const auto three = make_optimizer(config_of(name), resumed.arena);
    three->load_state(two->state());
    for (int i = 0; i < 2; ++i) whole.step(*one, 0.1), resumed.step(*three, 0.1);
    CHECK(resumed.arena.values().to_vector<float>() == whole.arena.values().to_vector<float>());
    CHECK_THROWS_WITH(three->load_state({}), contains("optimizer state: no '"));
    CHECK_THAT(three->describe(), contains(config_of(name).kind));
  }
}

TEST_CASE("optimizers: a field out of range is named") {
  Work problem(engine::DType::f32);
  const auto refused = [&](auto change) {
    OptimizerConfig c;
    change(c);
    try {
      make_optimizer(c, problem.arena);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK_THAT(refused([](auto& c) { c.kind = "lion"; }), contains("optimizer.kind: unknown 'lion'"));
  CHECK_THAT(refused([](auto& c) { c.lr = 0; }), contains("optimizer.lr"));
  CHECK_THAT(refused([](auto& c) { c.lr = NAN; }), contains("optimizer.lr"));
  CHECK_THAT(refused([](auto& c) { c.beta2 = 1; }), contains("optimizer.beta2"));
  CHECK_THAT(refused([](auto& c) { c.weight_decay = -1; }), contains("optimizer.weight_decay"));
  CHECK_THAT(refused([](auto& c) { c.kind = "muon", c.adamw_lr = 0; }), contains("optimizer.adamw_lr: 0 is not"));
  CHECK_THAT(refused([](auto& c) { c.kind = "muon", c.adamw_matrices = {"c*"}; }),
             contains("optimizer.adamw_matrices: 'c*' matches no parameter; there is a and 1 more"));
  CHECK_THAT(refused([](auto& c) { c.kind = "sgd", c.nesterov = true; }), contains("optimizer.nesterov"));
}

TEST_CASE("arena: decayed parameters first, values bound, norm and clipping") {
  Work problem(engine::DType::f64);
  CHECK(problem.arena.size() == 5);
  CHECK(problem.arena.decayed() == 3);
  CHECK(problem.arena.values().to_vector<double>() == Values{0.5, -1, 2, 0.25, -0.125});
  CHECK(problem.a.value().shares_storage(problem.arena.values()));
  const auto after_step = [&](double max_norm) {
    const Values before = problem.arena.values().to_vector<double>();
    const auto optimizer = make_optimizer({.kind = "sgd"}, problem.arena);
    problem.arena.zero_grad();
    sum(slice(problem.a, 0, 0, 2)).backward();  // gradient (1, 1, 0), none for b
    CHECK(problem.arena.gradient_norm() == Approx(std::sqrt(2.0)));
    CHECK(problem.arena.gradients().to_vector<double>()[3] == 0);
    optimizer->step(1, max_norm);
    CHECK(engine::read_step_state(optimizer->step_state()).gradient_norm ==
          (max_norm > 0 ? Approx(std::sqrt(2.0)) : Approx(0)));
    return before[0] - problem.arena.values().to_vector<double>()[0];
  };
  CHECK(after_step(0) == Approx(1));
  CHECK(after_step(100) == Approx(1));
  CHECK(after_step(1) == Approx(std::sqrt(0.5)));
  problem.arena.zero_grad();
  CHECK(problem.arena.gradient_norm() == 0);
}

TEST_CASE("arena: on a GPU parameters begin at multiples of 64 elements, and states are those of the CPU") {
  const engine::Device cuda{engine::Device::Kind::cuda, 0};
  if (!engine::has_device(cuda.kind)) return testing::skip("no CUDA device");
  struct Model {
    Var a, b, c;
    ParameterArena arena;
    std::unique_ptr<Optimizer> optimizer;
    Model(const OptimizerConfig& config, const ArenaOptions& options)
        : a(engine::random_normal({3}, 0, 1, {1, 1, 0}), true),
          b(engine::random_normal({5, 13}, 0, 1, {2, 1, 0}), true),
          c(engine::random_normal({64}, 0, 1, {3, 1, 0}), true),
          arena({{"a", a, false}, {"b", b, true}, {"c", c, true}}, options),
          optimizer(make_optimizer(config, arena)) {}
    void step() {
      arena.zero_grad();
      (scale(sum(a * a), 0.5) + sum(exp(b)) + sum(c * c * c)).backward();
      optimizer->step(0.01, 5);
    }
    Values moment() const {
      const std::map<std::string, Tensor> state = optimizer->state();
      return (state.contains("square") ? state.at("square") : state.at("momentum")).to_vector<double>();
    }
    Values values() const {
      Values all;
      for (const auto& [name, value] : arena.named_values())
        for (const double x : value.to_vector<double>()) all.push_back(x);
      return all;
    }
  };
  const auto near = [](const Values& got, const Values& want) {
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(1e-5).margin(1e-6));
  };
  for (const char* name : {"adamw", "sgd decay"}) {
    INFO(name);
    Model here(config_of(name), {}), there(config_of(name), {.device = cuda});
    CHECK(here.arena.values().numel() == 132);
    CHECK(there.arena.values().numel() == 128 + 64 + 3);  // b, c, a: 65, 64 and 3
    CHECK(there.arena.size() == 132);
    CHECK(there.arena.decayed_size() == here.arena.decayed());
    CHECK(there.optimizer->describe() == here.optimizer->describe());
    for (const Var& leaf : {there.a, there.b, there.c})
      CHECK(reinterpret_cast<uintptr_t>(leaf.value().raw()) % (64 * sizeof(float)) == 0);
    for (int i = 0; i < 3; ++i) here.step(), there.step();
    near(there.values(), here.values());
    near(there.moment(), here.moment());
    // A state goes either way, and on from there as it would have gone.
    Model back(config_of(name), {}), again(config_of(name), {.device = cuda});
    for (const auto& [to, from] : {std::pair{&back, &there}, std::pair{&again, &here}}) {
      to->optimizer->load_state(from->optimizer->state());
      const auto values = to->arena.named_values(), wanted = from->arena.named_values();
      for (size_t i = 0; i < values.size(); ++i)
        engine::copy_inplace(values[i].second, wanted[i].second.to(values[i].second.device()));
      to->step();
    }
    near(back.values(), again.values());
    near(back.moment(), again.moment());
    const Tensor gap = there.arena.values().slice(0, 65, 128);
    CHECK(gap.to_vector<float>() == std::vector<float>(63, 0.0f));
  }
}

TEST_CASE("arena: on a GPU a matrix of bf16 copies has room for a multiple of 8 rows, which stay zero") {
  const engine::Device cuda{engine::Device::Kind::cuda, 0};
  if (!engine::has_device(cuda.kind)) return testing::skip("no CUDA device");
  const Var w(engine::random_normal({67, 3}, 0, 1, {1, 1, 0}), true),
      b(engine::random_normal({5}, 0, 1, {2, 1, 0}), true);
  const ParameterArena arena({{"w", w}, {"b", b}}, {.device = cuda, .has_copies = true});
  CHECK(arena.values().numel() == 256 + 8);  // w has 72 rows, and b begins at a multiple of 64
  CHECK(arena.size() == 67 * 3 + 5);
  CHECK(arena.packed(arena.values()).numel() == arena.size());
  CHECK(b.value().reshape({5, 1}).with_padding(8, 1, true).defined());
  CHECK_FALSE(b.value().reshape({5, 1}).with_padding(9, 1, true).defined());
  const auto optimizer = make_optimizer(config_of("adamw"), arena);
  for (int i = 0; i < 3; ++i) {
    arena.zero_grad();
    (sum(w * w) + sum(exp(b))).backward();
    optimizer->step(0.1, 1);
  }
  for (const Tensor& whole : {w.value().with_padding(72, 3, true), w.grad().with_padding(72, 3, true)}) {
    REQUIRE(whole.defined());
    CHECK(whole.slice(0, 67, 72).to_vector<float>() == std::vector<float>(15, 0.0f));
  }
}

TEST_CASE("arena: on a GPU a matrix may have padded rows, which checkpoints do not show") {
  const engine::Device cuda{engine::Device::Kind::cuda, 0};
  if (!engine::has_device(cuda.kind)) return testing::skip("no CUDA device");
  for (const bool has_copies : {false, true}) {
    const int64_t row = has_copies ? 80 : 76;
    const Tensor start = engine::random_normal({6, 75}, 0, 1, {1, 1, 0});
    const Var b(Tensor::zeros({5}), true), w(start, true);
    const ParameterArena arena({{"b", b}, {"w", w, true, {.pads_rows = true}}},
                               {.device = cuda, .has_copies = has_copies});
    CHECK(w.value().row_stride() == row);
    CHECK(w.value().with_padding(6, row, true).defined() == has_copies);
    CHECK(w.grad_dtype() == engine::DType::f32);
    CHECK(arena.named_values()[1].second.to_vector<float>() == start.to_vector<float>());
    const auto optimizer = make_optimizer(config_of("adamw"), arena);
    for (int i = 0; i < 3; ++i) {
      arena.zero_grad();
      (sum(w * w) + sum(exp(b))).backward();
      optimizer->step(0.1, 1);
    }
    const Tensor packed = arena.packed(arena.values());
    CHECK(packed.shape() == Shape{5 + 6 * 75});
    CHECK(packed.slice(0, 5, 455).to_vector<float>() == arena.named_values()[1].second.to_vector<float>());
    const int64_t begin = arena.offset(1);
    const Tensor rows = arena.values().slice(0, begin, begin + 6 * row).reshape({6, row});
    CHECK(rows.slice(1, 75, row).to_vector<float>() == std::vector<float>(static_cast<size_t>(6 * (row - 75)), 0));
    const Tensor before = arena.values().clone();
    arena.unpack_inplace(arena.values(), packed);
    CHECK(arena.values().to_vector<float>() == before.to_vector<float>());
  }
}

TEST_CASE("clipping: a large gradient is clipped, one that is not finite is an error and changes nothing") {
  Work problem(engine::DType::f32);
  const auto optimizer = make_optimizer({.kind = "sgd"}, problem.arena);
  const auto step = [&](double factor) {
    problem.arena.zero_grad();
    scale(sum(slice(problem.a, 0, 0, 2)), factor).backward();
    optimizer->step(1, 1);
  };
  const Values before = problem.arena.values().to_vector<double>();
  step(2e19);
  const Values after = problem.arena.values().to_vector<double>();
  CHECK(before[0] - after[0] == Approx(std::sqrt(0.5)));
  CHECK_THROWS_WITH(step(1e39), contains("the gradient norm is inf"));
  CHECK_THROWS_WITH(step(NAN), contains("the gradient norm is nan"));
  CHECK(problem.arena.values().to_vector<double>() == after);
}

TEST_CASE("arena: what it refuses") {
  const Var x(Tensor::zeros({2}), true), wide(Tensor::zeros({2}, engine::DType::f64), true),
      constant(Tensor::zeros({2}));
  CHECK_THROWS_AS(ParameterArena({}), Error);
  CHECK_THROWS_WITH(ParameterArena({{"x", x}, {"again", x}}), contains("again was given twice"));
  CHECK_THROWS_WITH(ParameterArena({{"x", x}, {"x", Var(Tensor::zeros({2}), true)}}),
                    contains("two parameters are named x"));
  CHECK_THROWS_WITH(ParameterArena({{"x", x}, {"wide", wide}}), contains("wide is f64"));
  CHECK_THROWS_WITH(ParameterArena({{"constant", constant}}), contains("constant"));
  CHECK_THROWS_WITH(ParameterArena({{"wide", wide}}, {.has_copies = true}), contains("wide is f64 (2); bf16 copies"));
}

TEST_CASE("arena: a leaf is in one arena at a time") {
  const Var x(Tensor::full({2}, 3), true);
  {
    const ParameterArena first({{"x", x}}), same = first;
    CHECK_THROWS_WITH(ParameterArena({{"weight", x}}), contains("weight f32 (2) is in another arena already"));
    CHECK_THROWS_WITH(x.bind(Tensor::zeros({2}), Tensor::zeros({2})), contains("is in an arena already"));
  }
  const ParameterArena second({{"weight", x}});
  CHECK(second.values().to_vector<double>() == Values{3, 3});
  CHECK(x.value().shares_storage(second.values()));
}

TEST_CASE("optimizer: a step with a rate or a norm that is no number, and updates of overlapping arrays, are errors") {
  const Var x(Tensor::full({2}, 1), true);
  const auto optimizer = make_optimizer({.kind = "sgd"}, ParameterArena({{"x", x}}));
  CHECK_THROWS_WITH(optimizer->step(NAN), contains("a learning rate of nan"));
  CHECK_THROWS_WITH(optimizer->step(-1), contains("a learning rate of -1"));
  CHECK_THROWS_WITH(optimizer->step(1, NAN), contains("clipped to a norm of nan"));
  CHECK(x.value().to_vector<float>() == std::vector<float>{1, 1});
  const Tensor v = Tensor::zeros({4}), m = Tensor::zeros({4}), g = Tensor::zeros({4}), s = engine::make_step_state();
  CHECK_THROWS_WITH(engine::sgd_inplace(v, v, {}, {}, {}, s), contains("sgd: values and gradients lie in the same"));
  CHECK_THROWS_WITH(engine::adam_inplace(v, g, m, m, {}, {}, s), contains("adam: mean and square lie in the same"));
  CHECK_THROWS_WITH(engine::adam_inplace(v, g, m, Tensor::zeros({4}), {}, {.eps = -1}, s), contains("eps -1"));
  CHECK_THROWS_WITH(engine::sgd_inplace(v, g, {}, {}, {.decayed = 5}, s), contains("5 of 4 elements decay"));
}

TEST_CASE("an optimizer outlives the arena it was made for") {
  const Var x(Tensor::full({2}, 1), true);
  std::unique_ptr<Optimizer> optimizer;
  {
    const ParameterArena arena({{"x", x}});
    optimizer = make_optimizer({.kind = "sgd"}, arena);
  }
  sum(x).backward();
  optimizer->step(0.25);
  CHECK(x.value().to_vector<double>() == Values{0.75, 0.75});
}

TEST_CASE("bf16 copies: the masters take the steps of f32, and the leaves are the masters rounded") {
  for (const char* kind : {"sgd", "adamw"}) {
    const auto leaf = [] { return Var(Tensor::from<float>({3}, {0.5f, -1.0f, 2.0f}), true); };
    const Var reduced = leaf(), exact = leaf();
    const ParameterArena copies({{"x", reduced}}, {.has_copies = true}), plain({{"x", exact}});
    CHECK(reduced.value().dtype() == engine::DType::bf16);
    CHECK(reduced.grad_dtype() == engine::DType::f32);
    const auto one = make_optimizer({.kind = kind}, copies), two = make_optimizer({.kind = kind}, plain);
    for (int i = 0; i < 5; ++i) {
      copies.zero_grad();
      plain.zero_grad();
      const Tensor dy = Tensor::from<float>({3}, {0.3f, -0.7f, 1.1f});
      // An op that reads bf16 and gives its gradient in f32, as a product with f32 sums does.
      record("widen", reduced.value().to(engine::DType::f32), {reduced}, [](const Tensor& d, const Needs&) {
        return std::vector{d};
      }).backward(dy);
      scale(exact, 1).backward(dy);
      CHECK(reduced.grad().dtype() == engine::DType::f32);
      one->step(0.1), two->step(0.1);
    }
    CHECK(copies.values().to_vector<float>() == plain.values().to_vector<float>());
    CHECK(reduced.value().to_vector<float>() == plain.values().to(engine::DType::bf16).to_vector<float>());
    CHECK(copies.named_values().at(0).second.to_vector<float>() == exact.value().to_vector<float>());
  }
}

TEST_CASE("schedules: values by hand") {
  const auto factors = [](std::vector<ScheduleConfig> parts, std::vector<int64_t> steps) {
    const auto schedule = make_schedule(parts);
    Values out;
    for (const int64_t step : steps) out.push_back(schedule->factor(step));
    return out;
  };
  const auto near = [](const Values& got, const Values& want) {
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-12));
  };
  ScheduleConfig warmup{.kind = "warmup", .warmup = 4};
  ScheduleConfig cosine{.kind = "cosine", .steps = 8, .start = 4, .final_factor = 0.1};
  near(factors({{}}, {0, 1000}), {1, 1});
  near(factors({warmup}, {0, 1, 3, 100}), {0.25, 0.5, 1, 1});
  near(factors({cosine}, {0, 4, 6, 8, 12, 99}), {1, 1, 0.1 + 0.45 * (1 + std::sqrt(0.5)), 0.55, 0.1, 0.1});
  near(factors({warmup, cosine}, {1, 8}), {0.5, 0.55});
  near(factors({{.kind = "step", .steps = 3, .factor = 0.5}}, {0, 2, 3, 6}), {1, 1, 0.5, 0.25});
  near(factors({{.kind = "inverse_sqrt", .warmup = 4}}, {0, 3, 15, 63}), {0.25, 1, 0.5, 0.25});
}

TEST_CASE("schedules: reduce_on_plateau drops after patience, and its state is saved") {
  const ScheduleConfig config{.kind = "reduce_on_plateau", .factor = 0.5, .patience = 2};
  const auto schedule = make_schedule({config});
  const auto after = [&](std::vector<double> losses) {
    for (const double loss : losses) schedule->observe(loss);
    return schedule->factor(0);
  };
  CHECK(after({1.0, 0.9, 0.9, 0.95}) == 1);
  CHECK(after({0.9}) == 0.5);
  const auto resumed = make_schedule({config});
  resumed->load_state(schedule->state());
  CHECK(resumed->factor(7) == 0.5);
  CHECK(after({0.8, 0.8, 0.8}) == 0.5);
  CHECK(after({0.8}) == 0.25);
  CHECK_THROWS_AS(resumed->load_state({1.0}), Error);
}

TEST_CASE("schedules: what they refuse") {
  CHECK_THROWS_WITH(make_schedule({{.kind = "linear"}}), contains("'linear'"));
  CHECK_THROWS_WITH(make_schedule({{.kind = "warmup", .warmup = 0}}), contains("schedule.warmup"));
  CHECK_THROWS_WITH(make_schedule({{.kind = "cosine", .steps = 0}}), contains("schedule.steps"));
}

namespace {

/// A layer between two ends: what Muon turns (blocks.0.weight), and what it leaves to AdamW.
struct Layered {
  Var in, middle, bias;
  ParameterArena arena;
  explicit Layered(engine::DType dtype = engine::DType::f32)
      : in(normal({5, 3}, "in", dtype), true),
        middle(normal({4, 5}, "middle", dtype), true),
        bias(normal({4}, "bias", dtype), true),
        arena({{"input.weight", in, true}, {"blocks.0.weight", middle, true}, {"blocks.0.bias", bias, false}}) {}
  static Tensor normal(const Shape& shape, const char* stream, engine::DType dtype) {
    return engine::random_normal(shape, 0, 1, engine::Rng(5).take(stream, shape.numel() + 1)).to(dtype);
  }
  void step(Optimizer& optimizer, double lr) {
    arena.zero_grad();
    const Var x(normal({6, 3}, "x", in.value().dtype()));
    const Var y = autograd::linear(autograd::linear(x, in, Var()), middle, bias);
    mse(y, Var(normal({6, 4}, "y", in.value().dtype()))).backward();
    optimizer.step(lr);
  }
};

const OptimizerConfig muon{.kind = "muon", .lr = 0.1, .momentum = 0.95, .nesterov = true, .adamw_lr = 0.01};

}  // namespace

TEST_CASE("muon: matrices move along an orthogonal factor, the rest as AdamW moves it") {
  Layered turned(engine::DType::f64), plain(engine::DType::f64);
  const auto one = make_optimizer(muon, turned.arena), two = make_optimizer({.kind = "adamw", .lr = 0.01}, plain.arena);
  const Tensor before = turned.middle.value().clone();
  turned.step(*one, 0.1), plain.step(*two, 0.01);
  CHECK(distance(turned.in.value(), plain.in.value()) < 1e-14);
  CHECK(distance(turned.bias.value(), plain.bias.value()) < 1e-14);
  CHECK(distance(turned.middle.value(), plain.middle.value()) > 0.01);
  const Tensor moved = engine::scale(engine::sub(before, turned.middle.value()), 10);  // by the learning rate
  const Values s = engine::linalg::singular_values(moved).to_vector<double>();
  for (size_t i = 0; i < 3; ++i)
    CHECK((s[i] > 0.4 && s[i] < 1.25));  // the input is 3 wide, and so is the gradient's rank
  CHECK(s[3] < 1e-10);
  CHECK_THAT(one->describe(), contains("muon lr 0.1 momentum 0.95 nesterov on 1 matrices of 20 parameters"));
  // With other patterns the ends are turned, too.
  OptimizerConfig all = muon;
  all.adamw_matrices = {"blocks.0.weight"};
  CHECK_THAT(make_optimizer(all, Layered().arena)->describe(), contains("on 1 matrices of 15 parameters"));
}

TEST_CASE("optim: one clip over the arenas of several groups") {
  const Var a(Tensor::of({3, 0}), true), b(Tensor::of({4}), true);
  const ParameterArena first({{"a", a}}), second({{"b", b}});
  scale(sum(a * a) + sum(b * b), 0.5).backward();  // gradients (3, 0) and 4
  CHECK(clip_gradients({first, second}, 10) == 5);
  CHECK(b.grad().item() == 4);
  CHECK(clip_gradients({first, second}, 2.5) == 5);
  CHECK(a.grad().to_vector<float>() == std::vector<float>{1.5, 0});
  CHECK(b.grad().item() == 2);
  CHECK_THROWS_WITH(clip_gradients({first}, 0), "clip_gradients: to a norm of 0");
}

TEST_CASE("muon: f32 stays near its f64 twin, and a loaded state goes on with the same bits") {
  Layered exact(engine::DType::f64), whole, first;
  const auto twin = make_optimizer(muon, exact.arena), one = make_optimizer(muon, whole.arena);
  const auto two = make_optimizer(muon, first.arena);
  for (int i = 0; i < 3; ++i) exact.step(*twin, 0.1), whole.step(*one, 0.1), first.step(*two, 0.1);
  Layered resumed;
  engine::copy_inplace(resumed.arena.values(), first.arena.values());
  const auto three = make_optimizer(muon, resumed.arena);
  three->load_state(two->state());
  for (int i = 0; i < 3; ++i) exact.step(*twin, 0.1), whole.step(*one, 0.1), resumed.step(*three, 0.1);
  CHECK(resumed.arena.values().to_vector<float>() == whole.arena.values().to_vector<float>());
  const Values x = whole.arena.values().to_vector<double>(), y = exact.arena.values().to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(x[i] - y[i]) < 1e-4);
}
