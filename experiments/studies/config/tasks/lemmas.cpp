#include "engine/error.h"
#include "experiments/studies/config/tasks/pretrained.h"
#include "experiments/studies/config/tasks/registry.h"
#include "tasks/data/sha256.h"
#include "tasks/measure/head_source.h"

namespace headroom::experiments {
namespace {

constexpr Bounds positive = above(0);

/// The hash of the weights that a head is read from: other weights make another trial. Empty where there are none.
std::string hash_of(const tasks::HeadSource& head) {
  try {
    return head.run.empty() ? "" : tasks::sha256_of_file(tasks::trained_weights(head));
  } catch (const Error&) {  // told when the trial runs, and fails
    return "";
  }
}

tasks::HeadSource bind_head(Reader& in) {
  tasks::HeadSource head;
  const std::string kind = in.word("kind", "random", {"random", "trained", "pretrained"}, "where it comes from");
  const auto bind_place = [&] {
    in.set("layer", head.layer, {.low = 0}, "of the model");
    in.set("index", head.head, {.low = 0}, "the head's number in its layer");
  };
  in.when(kind == "random", "with kind = \"random\"", [&] {
    in.set("width", head.width, count, "model width, D");
    in.set("head_dim", head.head_dim, count, "width of queries and keys, d_H");
    in.set("gain", head.gain, positive, "weights are N(0, gain^2 / D)");
  });
  in.when(kind == "trained", "with kind = \"trained\"", [&] {
    head.run =
        in.text("run", std::nullopt,
                "folder of a study run with train.keep_weights, such as runs/STUDY/quick; from the working directory");
    in.set("seed", head.seed, {.low = -1}, "of the trained model, if the run kept several");
    in.set("trial", head.trial, "how its id begins, if the seed is not enough");
    bind_place();
    in.note("weights", hash_of(head));
  });
  in.when(kind == "pretrained", "with kind = \"pretrained\"", [&] {
    head.model = bind_studied_model(in);
    head.text = bind_studied_text(in);
    bind_place();
    head.ignores_rotation =
        !in.flag("rotation", !head.ignores_rotation, "false: rotary turns are left out, so that logits are W_Q^T W_K");
  });
  return head;
}

/// Which head, and how many tokens it reads.
template <class Config>
void bind_head_and_length(Reader& in, Config& task, const Bounds& lengths) {
  in.table("head", "the attention head: a random one, one that a study trained, or one of a trained model's files",
           [&](Reader& head) { task.head = bind_head(head); });
  in.set("length", task.length, lengths, "tokens, L");
}

/// Which tokens, and the norm of random ones.
template <class Config>
void bind_tokens(Reader& in, Config& task) {
  using tasks::HeadTokens;
  in.set(
      "tokens", task.tokens,
      {{"random", HeadTokens::random}, {"embedding", HeadTokens::embedding}, {"activations", HeadTokens::activations}},
      "uniform on a sphere, what the first layer of a trained model reads, or what the layer of a "
      "pretrained one is given on a span of its text, one span for each seed");
  in.when(task.tokens == HeadTokens::random, "with tokens = \"random\"",
          [&] { in.set("token_norm", task.token_norm, positive, "B, the norm of the random tokens"); });
}

void bind_alibi_slope(Reader& in, double& slope) {
  in.set("alibi_slope", slope, at_least(0),
         "of a random head: bias -slope (l - j); 0: none. A trained one has its model's");
}

tasks::TaskConfig bind_exponential_sum(Reader& in) {
  using Rates = tasks::ExponentialSumConfig::Rates;
  tasks::ExponentialSumConfig task;
  task.lag = in.integer("lag", std::nullopt, {.low = 1, .high = 1000}, "T: the sum should be 1 there, 0 elsewhere");
  task.terms = in.integer("terms", std::nullopt, {.low = 1, .high = 512}, "m, the number of exponentials");
  in.set("rates", task.rates,
         {{"any", Rates::any}, {"linear", Rates::linear}, {"geometric", Rates::geometric}, {"cited", Rates::cited}},
         "the best there are, step k, from low to high, or those of the lemma's source as we read it");
  in.when(task.rates == Rates::linear, "with rates = \"linear\"",
          [&] { in.set("step", task.step, positive, "rates are step, 2 step, ..."); });
  in.when(task.rates == Rates::geometric, "with rates = \"geometric\"", [&] {
    in.set("low", task.low, positive, "smallest rate");
    in.set("high", task.high, positive, "largest rate");
  });
  in.when(task.rates == Rates::cited, "with rates = \"cited\"",
          [&] { in.set("rate", task.rate, positive, "the source's a"); });
  in.when(task.rates == Rates::any, "with rates = \"any\"", [&] {
    in.set("float_limits", task.float_limits, "also the best error of f32 and bf16 with any number of heads");
  });
  return checked(in, "terms", task);
}

tasks::TaskConfig bind_random_projection(Reader& in) {
  tasks::RandomProjectionConfig task;
  in.set("dim", task.dim, {.low = 2, .high = 4096}, "D");
  in.set("rank", task.rank, count, "r, of the random subspace");
  in.set("samples", task.samples, {.low = 2, .high = most}, "random subspaces");
  in.set("epsilon", task.epsilon, at_least(0), "the tail is above sqrt(1 - r/D) + epsilon");
  in.set("vectors", task.vectors, count, "N, vectors that one subspace should serve");
  in.set("delta", task.delta, {.low = 0, .high = 1, .low_open = true, .high_open = true},
         "probability that it does not");
  return checked(in, "rank", task);
}

tasks::TaskConfig bind_softmax_bound(Reader& in) {
  tasks::SoftmaxBoundConfig task;
  bind_head_and_length(in, task, {.low = 2, .high = 8192});
  bind_tokens(in, task);
  bind_alibi_slope(in, task.alibi_slope);
  return checked(in, "length", task);
}

tasks::TaskConfig bind_svd_bound(Reader& in) {
  tasks::SvdBoundConfig task;
  bind_head_and_length(in, task, {.low = 2, .high = 8192});
  in.set("rank", task.rank, count, "r of the truncated SVD");
  bind_tokens(in, task);
  bind_alibi_slope(in, task.alibi_slope);
  in.set("late", task.late, {.low = 0, .high = 1, .high_open = true}, "late queries are l >= late * length");
  return checked(in, "rank", task);
}

tasks::TaskConfig bind_rope_bound(Reader& in) {
  tasks::RopeBoundConfig task;
  bind_head_and_length(in, task, {.low = 1, .high = 512});
  in.set("rank", task.rank, count, "r of the truncated SVDs");
  bind_tokens(in, task);
  in.set("pairing", task.pairing,
         {{"half-split", tasks::Pairing::half_split}, {"interleaved", tasks::Pairing::interleaved}},
         "which coordinates turn together: i and i + d/2, or 2i and 2i + 1; a head trained "
         "under RoPE has the model's");
  in.set("base", task.base, positive,
         "theta; pair i turns by position * theta^(-2i/d); a head trained under RoPE has "
         "the model's");
  return checked(in, "rank", task);
}

TaskWords exponential_sum_words(const TaskJson& task) {
  return {fmt::format("How well can a sum of {} exponentials be 1 at lag {} and 0 at every other lag? "
                      "The best coefficients are computed.",
                      task_value(task, "terms"), task_value(task, "lag")),
          "with 2 terms at lag 2: a₁ e^(-b₁ t) + a₂ e^(-b₂ t) ≈ 0, 1, 0, 0, … at t = 1, 2, 3, 4, …"};
}

}  // namespace

const TaskKind exponential_sum_task{"exponential-sum", bind_exponential_sum, exponential_sum_words};
const TaskKind random_projection_task{
    "random-projection", bind_random_projection,
    always("What a random subspace leaves of a vector is computed for many draws, and held against the lemma.")};
const TaskKind softmax_bound_task{
    "softmax-bound", bind_softmax_bound,
    always("The norm of softmax's Jacobian at a query is computed for an attention head, and held against Theorem 2.")};
const TaskKind svd_bound_task{
    "svd-bound", bind_svd_bound,
    always("The product of a head's query and key matrices is replaced by its best approximation of lower rank, and "
           "what that changes in its attention is held against Corollary 2.")};
const TaskKind rope_bound_task{"rope-bound", bind_rope_bound,
                               always("Query and key matrices under rotary positions are each cut to a lower rank, and "
                                      "what that changes is held against the paper's proposition.")};

}  // namespace headroom::experiments
