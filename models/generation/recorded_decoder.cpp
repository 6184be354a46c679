#include "models/generation/recorded_decoder.h"

#include <limits>

#include "engine/error.h"
#include "engine/transfer.h"

namespace headroom::models {
namespace {

/// Random numbers that one choice moves the stream by.
uint64_t numbers_of(const TokenDraw& draw) { return draw.filter.temperature > 0 ? 4 : 0; }

/// True if tokens are chosen in the same way, apart from the position in the random stream.
bool is_alike(const TokenDraw& a, const TokenDraw& b) {
  return a.filter.temperature == b.filter.temperature && a.filter.top_k == b.filter.top_k &&
         a.filter.top_p == b.filter.top_p && a.filter.min_p == b.filter.min_p && a.key.seed == b.key.seed &&
         a.key.stream == b.key.stream;
}

}  // namespace

RecordedDecoder::RecordedDecoder(const Transformer& model, std::function<void(const std::string&)> note)
    : model_(model), note_(std::move(note)) {}

bool RecordedDecoder::is_possible() const {
  return !has_failed_ && engine::Recording::is_possible(model_.device()) &&
         rope_limit(model_.config()) == std::numeric_limits<int64_t>::max();
}

void RecordedDecoder::decode(ModelCache& state, const TokenDraw& draw) {
  engine::RngKey key = draw.key;
  if (numbers_of(draw) > 0) key.offset = 0, key.base = engine::draws_base(token_);
  const Tensor logits = model_.decode_at(token_, state);                  // (1, 1, V)
  logits_ = logits.to(engine::DType::f32).reshape({logits.dim(-1)});      // (V)
  const Tensor chosen = engine::choose_token(logits_, draw.filter, key);  // ()
  engine::next_token_inplace(token_, chosen, numbers_of(draw));
}

std::optional<int64_t> RecordedDecoder::next(int64_t token, ModelCache& state, const TokenDraw& draw) {
  model_.require_place(state.offset() + 1);
  state.make_room(1);
  if (!recorder_) {
    recorder_.emplace(model_.device());
    token_ = engine::make_token_state(model_.device());
    there_ = {};
  }
  if (capacity_ != state.capacity() || !is_alike(drawn_, draw)) recorder_->forget();
  capacity_ = state.capacity(), drawn_ = draw;
  const engine::TokenState wanted{token, state.offset(), state.length() + 1, draw.key.offset};
  if (!(there_ == wanted)) engine::write_token_state(token_, wanted);
  const bool was_recorded = is_recorded();
  try {
    recorder_->run([&] { decode(state, draw); });
  } catch (const Error& error) {
    if (was_recorded || engine::device_is_lost()) throw;
    has_failed_ = true;
    logits_ = {};
    recorder_.reset();
    if (note_) note_(fmt::format("tokens are not recorded but queued op by op: {}", error.what()));
    return std::nullopt;
  }
  const int64_t chosen = engine::read_token(token_);
  state.advance();
  there_ = {chosen, wanted.position + 1, wanted.length + 1, wanted.draws + numbers_of(draw)};
  return chosen;
}

}  // namespace headroom::models
