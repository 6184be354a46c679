// nccl.h includes it and uses nothing of it: see docs/cuda.md.
