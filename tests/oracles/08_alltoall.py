# SPDX-License-Identifier: Apache-2.0
"""y[s] on rank r = x_s[r]; moved, not computed."""

import torch


def oracle(ranks):
    return [{"y": torch.stack([source["inputs"]["x"][r] for source in ranks])} for r in range(len(ranks))]
