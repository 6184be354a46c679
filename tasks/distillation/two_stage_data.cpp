#include "tasks/distillation/two_stage_data.h"

#include <mutex>

#include "engine/error.h"
#include "tasks/data/locate.h"
#include "tasks/language/text_files.h"

namespace headroom::tasks {
namespace {

std::vector<int32_t> encoded(const models::Tokenizer& tokenizer, const std::string& text, const DataRoots& roots) {
  return tokenizer.encode(read_text_file(find_file(text, roots)), models::Specials::plain);
}

}  // namespace

std::shared_ptr<const TwoStageData> TwoStageData::of(const TwoStageSource& source, const DataRoots& roots) {
  static std::mutex loading;
  static std::map<std::string, std::weak_ptr<const TwoStageData>> loaded;
  const std::lock_guard lock(loading);
  const std::string key =
      fmt::format("{} {} {} {} {} {} {}", std::filesystem::absolute(find_model(roots, source.model)).string(),
                  find_file(source.text, roots).string(), find_file(source.validation, roots).string(),
                  find_file(source.sentences, roots).string(), find_file(source.dev, roots).string(),
                  source.validation_tokens, source.sentence_count);
  if (auto data = loaded[key].lock()) return data;
  auto data = std::make_shared<const TwoStageData>(source, roots);
  loaded[key] = data;
  return data;
}

TwoStageData::TwoStageData(const TwoStageSource& source_in, const DataRoots& roots) : source(source_in) {
  files_ = models::ModelFiles::open(find_model(roots, source.model));
  const auto tokenizer = files_->tokenizer();
  const models::ModelDescription& description = files_->description();
  SentenceTable table;
  table.longest = description.context;
  bos = description.text_begin();
  if (bos) table.bos = static_cast<int32_t>(*bos);
  LabelledSentences labelled = read_sentences(find_file(source.sentences, roots), table, *tokenizer);
  sentences = std::move(labelled.items);
  table.classes = classes = labelled.classes;
  dev = read_sentences(find_file(source.dev, roots), table, *tokenizer).items;
  text = encoded(*tokenizer, source.text, roots);
  validation = encoded(*tokenizer, source.validation, roots);
  require(std::ssize(validation) > source.validation_window, "{}: has {} tokens, a window takes {} and one more",
          source.validation, validation.size(), source.validation_window);
  validation.resize(std::min(validation.size(), static_cast<size_t>(source.validation_tokens) + 1));
  StudiedModel hashed({.model = source.model}, roots);
  for (const auto& [file, hash] : two_stage_hashes(hashed, source)) identity += hash + " ";
}

const models::Transformer& TwoStageData::model(engine::Device device) const {
  return models_.get(device, [&] { return files_->load({.keep = models::Keep::computed}); });
}

std::vector<LabelledSentence> TwoStageData::sample(uint64_t seed) const {
  return source.sentence_count == 0 ? sentences : sample_sentences(sentences, source.sentence_count, seed);
}

std::map<std::string, std::string> two_stage_hashes(StudiedModel& model, const TwoStageSource& source) {
  std::map<std::string, std::string> hashes;
  for (const std::string& file : {source.text, source.validation, source.sentences, source.dev})
    hashes.merge(model.hashes({.text = file}));
  return hashes;
}

}  // namespace headroom::tasks
