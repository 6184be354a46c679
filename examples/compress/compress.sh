#!/bin/sh
# compress.sh MODEL TEXT OUT: narrows MODEL's query and key heads to 4 dimensions, with maps made from the first half of TEXT,
# shows what that costs on the second, and then uses the model that was written: its perplexity, and a few words of it.
# HEADROOM is the program (default: headroom).
set -eu
headroom=${HEADROOM:-headroom} model=$1 text=$2 out=$3
$headroom compress "$model" -o "$out" --part qk --method whitened-grouped --rank 4 --calibrate "$text" --calibrate-tokens 0:320 \
  --eval "$text" --eval-tokens 320:724 --context 32 --no-speed --format compact
$headroom eval "$out" --text "$text" --context 32 --max-tokens 320
$headroom generate "$out" --prompt "the" --max-tokens 8
