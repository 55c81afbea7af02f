# SPDX-License-Identifier: Apache-2.0
"""Opens what reference_torch_file_test.cpp wrote: reference_torch_file.py everything|dump|alone FILE."""

import math
import sys

import torch


def check_everything(root):
    scalars = root["scalars"]
    floats = scalars.pop("floats")
    assert floats[:2] == [0.1, -math.inf] and math.isnan(floats[2])
    assert scalars == {"none": None, "true": True, "false": False, "integers": [0, -1, 2**31, -(2**40)],
                       "limits": [-(2**63), 2**63 - 1], "text": "\u00e9\n", "empty": [[], {}, ""]}, scalars
    assert scalars["true"] is True
    tensors = root["tensors"]
    names = {"BFloat16": torch.bfloat16, "Half": torch.float16, "Float": torch.float32, "Double": torch.float64,
             "Float8_e4m3fn": torch.float8_e4m3fn, "Int": torch.int32, "Long": torch.int64, "Byte": torch.uint8,
             "ComplexFloat": torch.complex64}
    wanted = torch.arange(6).reshape(2, 3)
    for name, dtype in names.items():
        tensor = tensors.pop(name)
        assert tensor.dtype == dtype and torch.equal(tensor.to(torch.complex64), wanted.to(torch.complex64)), name
    assert torch.equal(tensors["Bool"], wanted > 2)
    assert tensors["rank 0"].shape == () and tensors["rank 0"].item() == 2.5
    assert tensors["no rows"].shape == (0, 3) and tensors["no rows"].dtype == torch.bfloat16
    assert torch.equal(tensors["columns"], wanted.float().T) and tensors["columns"].stride() == (1, 3)
    assert tensors["part"].tolist() == [[1, 2], [5, 6], [9, 10]]
    assert tensors["expanded"].tolist() == [[0, 1, 2]] * 2
    assert tensors["absent"] is None


def check_dump(root):
    assert (root["problem"], root["name"], root["size"], root["case"]) == (5, "example", "smoke", "default")
    assert (root["world"], root["rank"], root["trial"], root["draw"]) == (2, 1, 3, 9)
    assert root["params"] == {"M": 4, "eps": 1e-5} and isinstance(root["params"]["M"], int)
    assert root["scalars"] == {"splits": [[1, 2, 3], [4, 5, 6]], "none": None, "flag": True, "p": 0.9, "group": "tp"}
    assert root["groups"] == {"world": [0, 1], "tp": [1]}
    assert root["tolerance"]["sum"] == {"atol": 1e-2, "rtol": 2e-2, "frobenius": 3e-2, "in_rms": True, "bitwise": False}
    assert root["tolerance"]["moved"]["bitwise"] is True
    assert list(root["inputs"]) == ["x", "many", "optional"] and root["inputs"]["optional"] is None
    assert [tensor.tolist() for tensor in root["inputs"]["many"]] == [[], [0], [0, 1]]
    assert root["expected"]["sum"].tolist() == [1, 1] and root["expected"]["moved"].shape == (1, 2)
    if root["rows"]:
        assert root["rows"] == {"moved": 3} and root["actual"]["moved"].shape == (3, 2)


def check_alone(root):
    check_dump(root)
    assert root["rows"] == {} and root["actual"] == {"sum": None, "moved": None}


if __name__ == "__main__":
    globals()["check_" + sys.argv[1]](torch.load(sys.argv[2], weights_only=True))
