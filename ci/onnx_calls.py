"""Calls of an ONNX network, computed by onnxruntime: `onnx_calls.py NAME NETWORK.onnx CALLS.safetensors COUNT`.

ci/models runs it in a virtual environment. The inputs are made here and are the same each time: texts for magika, a voice-like sound for
silero, a picture of words for PP-OCR. A call whose network has a state gets the one that the call before left. CALLS.safetensors has
`CALL/input/NAME` and `CALL/output/NAME`. What the network says is printed, so that a reader sees that it was fed with something it knows.
"""
import sys

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFont
from safetensors.numpy import save_file

TEXTS = [
    "import sys\n\n\ndef main():\n    for line in sys.stdin:\n        print(line.strip().lower())\n\n\nif __name__ == '__main__':\n    main()\n",
    '{"name": "parity", "version": "1.0.0", "keywords": ["amd", "rocm", "hip"], "private": true, "size": 42, "nested": {"a": [1, 2, 3]}}\n',
    "#include <stdio.h>\n\nint main(int argc, char **argv) {\n    for (int i = 1; i < argc; ++i) {\n        puts(argv[i]);\n    }\n    return 0;\n}\n",
]
WORDS = "parity 2026"


def magika(run, network, count):
    """The first 1,024 bytes of a text and the last ones, 256 where there is none."""
    for text in TEXTS[:count]:
        data = list(text.strip().encode())[:1024]
        padding = [256] * (1024 - len(data))
        (probabilities,) = run({"bytes": np.array([data + padding + padding + data], dtype=np.int32)})
        print(f"label {probabilities.argmax()} of {probabilities.size}, {probabilities.max():.3f}")


def sound(samples):
    """Formants of a vowel over a falling pitch, sampled 16,000 times a second."""
    time = np.arange(samples) / 16000
    pitch = 2 * np.pi * (140 * time - 20 * time**2)
    voice = sum(np.sin(harmonic * pitch) / (1 + ((harmonic * 140 - 700) / 300) ** 2) for harmonic in range(1, 24))
    return (0.2 * voice).astype(np.float32)


def silero(run, network, count):
    """Windows of 512 samples, each with the 64 before it."""
    names = {given.name for given in network.get_inputs()}
    data = sound(64 + 512 * 8 * count)
    window = lambda place: data[512 * place : 512 * place + 576]
    state = np.zeros((2, 1, 128), np.float32)
    for call in range(count):
        if "h" in names:
            inputs = {"input": np.stack([window(8 * call + place) for place in range(8)]), "h": state[:1], "c": state[1:]}
        else:
            inputs = {"input": window(call)[None], "state": state, "sr": np.array(16000, np.int64)}
        said, *states = run(inputs)
        state = np.concatenate(states)
        print("speech " + " ".join(f"{float(share):.3f}" for share in said.flatten()))


def picture(height, width):
    image = Image.new("L", (width, height), 255)
    ImageDraw.Draw(image).text((width // 16, height // 8), WORDS, font=ImageFont.load_default(height * 0.55), fill=0)
    return np.repeat(np.asarray(image, np.float32)[None, None] / 255, 3, axis=1)


def ppocr_det(run, network, count):
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    shaped = lambda numbers: numbers.astype(np.float32).reshape(1, 3, 1, 1)
    (inside,) = run({"x": (picture(96, 320) - shaped(mean)) / shaped(deviation)})
    print(f"text covers {float((inside > 0.3).mean()):.3f} of the picture")


def ppocr_rec(run, network, count):
    (letters,) = run({"x": (picture(48, 320) - 0.5) / 0.5})
    alphabet = ["", *network.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
    best = letters[0].argmax(-1)
    read = "".join(alphabet[letter] for place, letter in enumerate(best) if place == 0 or letter != best[place - 1])
    print(f"reads {read!r}")


def ppocr_cls(run, network, count):
    upright = (picture(48, 192) - 0.5) / 0.5
    for image in [upright, upright[:, :, ::-1, ::-1]][:count]:
        (turned,) = run({"x": np.ascontiguousarray(image)})
        print(f"upside down: {turned[0, 1]:.3f}")


FAMILIES = {"magika": magika, "silero": silero, "ppocr-det": ppocr_det, "ppocr-rec": ppocr_rec, "ppocr-cls": ppocr_cls}


def main():
    name, path, out, count = sys.argv[1:]
    network = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (family,) = [family for prefix, family in FAMILIES.items() if name.startswith(prefix)]
    outputs = [output.name for output in network.get_outputs()]
    tensors = {}

    def run(inputs):
        results = network.run(outputs, inputs)
        call = len({key.split("/")[0] for key in tensors})
        tensors.update({f"{call}/input/{name}": value for name, value in inputs.items()})
        tensors.update({f"{call}/output/{name}": value for name, value in zip(outputs, results)})
        print(f"onnxruntime {onnxruntime.__version__}, {name}: ", end="")
        return results

    family(run, network, int(count))
    save_file({key: np.ascontiguousarray(value) for key, value in tensors.items()}, out)


main()
