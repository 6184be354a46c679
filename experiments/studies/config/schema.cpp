#include "experiments/studies/config/schema.h"

#include "experiments/studies/claims/bind_claim.h"
#include "experiments/studies/config/bind.h"
#include "experiments/studies/config/series.h"
#include "experiments/studies/config/sweep.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

Schema make_schema() {
  Schema schema;
  Complaints unused;
  Reader in(schema, unused);
  StudyInfo head;
  bind_info(in, {}, {}, "", head);
  join_claim_keys(schema);
  TrialConfig trial;
  bind_trial(in, trial);
  in.table("sweep", "what varies", describe_sweep);
  in.tables("series", "a curve of its own", describe_series);
  in.table("profile", "other values for other purposes: [profile.quick], [profile.smoke]", [](Reader& profiles) {
    profiles.others("NAME.KEY", "replaces a key of the file; a table in braces replaces the whole table");
  });
  return schema;
}

}  // namespace

const Schema& study_schema() {
  static const Schema schema = make_schema();
  return schema;
}

}  // namespace headroom::experiments
