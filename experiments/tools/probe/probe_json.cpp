#include "experiments/tools/probe/probe_output.h"

namespace headroom::experiments {
namespace {

using nlohmann::ordered_json;
using tasks::QueryMeasures;

/// One measure of several queries.
ordered_json column(const std::vector<QueryMeasures>& queries, double QueryMeasures::*field) {
  ordered_json out = ordered_json::array();
  for (const QueryMeasures& query : queries) out.push_back(query.*field);
  return out;
}

ordered_json json_of_weights(const std::vector<QueryMeasures>& queries) {
  return {{"norm", column(queries, &QueryMeasures::jacobian_norm)},
          {"entropy", column(queries, &QueryMeasures::entropy)},
          {"sink_mass", column(queries, &QueryMeasures::sink_mass)},
          {"largest", column(queries, &QueryMeasures::largest)},
          {"largest_logit", column(queries, &QueryMeasures::largest_logit)}};
}

ordered_json json_of_head(const tasks::HeadProbe& head, const std::vector<HeadMeasure>& measures) {
  ordered_json by_length = json_of_weights(head.last), summary;
  by_length["norm_stderr"] = head.norm_stderr;
  by_length["logits_all"] = column(head.middle, &QueryMeasures::logits_rms_all);
  by_length["logits_causal"] = column(head.middle, &QueryMeasures::logits_rms);
  by_length["logits_centred"] = column(head.middle, &QueryMeasures::logits_deviation);
  ordered_json by_position = json_of_weights(head.at_position);
  by_position["logits_causal"] = column(head.at_position, &QueryMeasures::logits_rms);
  by_position["logits_centred"] = column(head.at_position, &QueryMeasures::logits_deviation);
  for (const HeadMeasure& measure : measures) summary[measure.id] = measure.value(head);
  return {{"layer", head.layer},
          {"head", head.head},
          {"measures", std::move(summary)},
          {"largest_norm", head.largest_norm},
          {"by_length", std::move(by_length)},
          {"by_position", std::move(by_position)},
          {"singular_values",
           {{"scores", head.spectra.weighted},
            {"product", head.spectra.product},
            {"query", head.spectra.query},
            {"key", head.spectra.key}}}};
}

const char* name_of(HeadMeasure::Shade shade) {
  return shade == HeadMeasure::Shade::linear ? "linear" : shade == HeadMeasure::Shade::log ? "log" : "signed";
}

}  // namespace

ordered_json probe_json(const ProbeResults& r) {
  const std::vector<HeadMeasure> measures = head_measures(r);
  ordered_json lengths = ordered_json::array(), spans = ordered_json::object(), positions = ordered_json::array();
  for (const tasks::ProbeSpans& own : r.probe.spans) {
    lengths.push_back(own.length);
    spans[std::to_string(own.length)] = own.starts;
  }
  for (const int64_t position : r.probe.positions) positions.push_back(position + 1);
  ordered_json described = ordered_json::array(), findings = ordered_json::array(), heads = ordered_json::array();
  for (const HeadMeasure& measure : measures)
    described.push_back({{"id", measure.id},
                         {"group", measure.group},
                         {"label", measure.label},
                         {"meaning", measure.meaning},
                         {"shade", name_of(measure.shade)}});
  for (const ProbeFinding& finding : probe_findings(r))
    findings.push_back({{"heading", finding.heading}, {"text", finding.text}});
  for (const tasks::HeadProbe& head : r.probe.probes) heads.push_back(json_of_head(head, measures));
  return {{"model", r.model},
          {"name", r.name},
          {"family", r.family},
          {"layers", r.probe.layers},
          {"heads_per_layer", r.probe.heads},
          {"kv_heads", r.kv_heads},
          {"head_dim", r.head_dim},
          {"text", r.text},
          {"tokens", r.tokens},
          {"bos", r.cut.begin ? ordered_json(*r.cut.begin) : ordered_json(nullptr)},
          {"splitter", r.cut.splitter},
          {"lengths", std::move(lengths)},
          {"spans", std::move(spans)},
          {"positions", std::move(positions)},
          {"energies", r.energies},
          {"possible_savings", json_of(r.savings)},
          {"seconds", r.seconds},
          {"findings", std::move(findings)},
          {"limits", probe_limits(r)},
          {"measures", std::move(described)},
          {"heads", std::move(heads)}};
}

}  // namespace headroom::experiments
