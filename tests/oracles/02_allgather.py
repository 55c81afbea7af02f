# SPDX-License-Identifier: Apache-2.0
"""y[s] = x_s, on every rank; moved, not computed."""

import torch


def oracle(ranks):
    stacked = torch.stack([rank["inputs"]["x"] for rank in ranks])
    return [{"y": stacked} for _ in ranks]
