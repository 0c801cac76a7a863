"""Scores that onnxruntime gives for files, as text for examples/filetype.

    filetype_reference.py MODEL_FOLDER SCORES FILE...

One line a file that the model is asked about: path, the package's own label, then the scores, separated by tabs and spaces.
"""
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from magika import Magika


def main(folder, out, files):
    package = Magika()
    config = package._model_config
    session = onnxruntime.InferenceSession(str(Path(folder) / "model.onnx"), providers=["CPUExecutionProvider"])
    with open(out, "w") as scores:
        for name in files:
            result, features = package._get_result_or_features_from_path(Path(name))
            if result is not None:
                continue
            tokens = np.array([features.beg + features.end], dtype=np.int32)
            assert tokens.shape[1] == config.beg_size + config.end_size
            (values,) = session.run(None, {"bytes": tokens})
            label = package.identify_path(name).output.label
            scores.write(f"{name}\t{label}\t" + " ".join(f"{float(v):.9g}" for v in values[0]) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
