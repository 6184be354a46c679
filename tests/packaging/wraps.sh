#!/bin/sh
# wraps.sh ROOT: fails for a wrap whose sources are not one archive, by https and with its SHA-256. Fetches nothing.
set -eu
cd "$1/subprojects"
status=0
complain() { echo "subprojects/$wrap: $*"; status=1; }
for wrap in *.wrap; do
  value() { sed -n "s/^$1 = //p" "$wrap"; }
  [ "$(head -n 1 "$wrap")" = '[wrap-file]' ] || complain "expected [wrap-file]: tags of wrap-git can be moved"
  value source_url | grep -qE '^https://[^ ]+$' || complain "source_url: expected https://"
  value source_hash | grep -qE '^[0-9a-f]{64}$' || complain "source_hash: expected a SHA-256"
  [ -n "$(value source_filename)" ] || complain "source_filename: expected"
  if grep -qE '^(url|revision|source_fallback_url|patch_url|method) ' "$wrap"; then complain "holds what nothing checks"; fi
  patch=$(value patch_directory)
  [ -z "$patch" ] || [ -f "packagefiles/$patch/meson.build" ] || complain "there is no packagefiles/$patch/meson.build"
done
exit $status
