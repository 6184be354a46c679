"""Writes blocks/NAME.json: random blocks of a quantised format, and their numbers as the PyPI package gguf makes them.

    python3 -m venv env && env/bin/pip install gguf==0.19.0 && env/bin/python make_blocks.py

Every byte is random but the f16 scales, which are made finite. Numbers are the bits of f32 in hex.
"""

import json
import pathlib

import gguf
import numpy

FOLDER = pathlib.Path(__file__).parent / "blocks"
SCALES = {"q8_0": [0], "q4_0": [0], "q4_1": [0, 2], "q5_0": [0], "q5_1": [0, 2], "q4_k": [0, 2], "q6_k": [208],
          "q2_k": [80, 82], "q3_k": [108], "q5_k": [0, 2], "iq4_nl": [0], "iq4_xs": [0], "mxfp4": []}


def main():
    generator = numpy.random.default_rng(11)
    for name, offsets in SCALES.items():
        kind = gguf.GGMLQuantizationType[name.upper()]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = generator.integers(0, 256, (512 // elements, size), dtype=numpy.uint8)
        for offset in offsets:
            scales = generator.normal(0, 0.02, len(blocks)).astype(numpy.float16)
            blocks[:, offset : offset + 2] = scales.view(numpy.uint8).reshape(-1, 2)
        values = gguf.quants.dequantize(blocks.reshape(1, -1), kind).astype(numpy.float32).reshape(-1)
        out = {"blocks": blocks.tobytes().hex(), "values": values.view(numpy.uint32).astype(">u4").tobytes().hex()}
        (FOLDER / f"{name}.json").write_text(json.dumps(out, indent=1) + "\n")


main()
