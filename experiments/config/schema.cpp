#include "experiments/config/schema.h"

#include "experiments/config/bind.h"
#include "experiments/config/reader.h"

namespace headroom::experiments {
namespace {

Schema make_schema() {
  Schema schema;
  Problems unused;
  Reader in(schema, unused);
  StudyHead head;
  bind_head(in, {""}, "", head);
  TrialConfig trial;
  bind_trial(in, trial);
  return schema;
}

}  // namespace

const Schema& study_schema() {
  static const Schema schema = make_schema();
  return schema;
}

}  // namespace headroom::experiments
