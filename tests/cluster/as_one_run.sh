# Sourced in the folder of study.toml, with $program set and -e: ends unless its runs in whole/ and queued/ have the same
# metrics, weights and report. Leaves them in {whole,queued}.{csv,sums,report}.
for out in whole queued; do
  "$program" export csv queued --metrics-only --out "$out" >"$out.csv"
  (cd "$out/queued/own/weights" && sha256sum ./*) >"$out.sums"
  "$program" report study.toml --out "$out" >"$out.report"
done
cmp whole.csv queued.csv
cmp whole.sums queued.sums
diff <(grep -v '^report ' whole.report) <(grep -v '^report ' queued.report)
