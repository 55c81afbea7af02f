# SPDX-License-Identifier: Apache-2.0
"""y = all ranks' x joined along the first axis in rank order, on every rank."""
import torch

from common_b import take


def oracle(ranks):
    return [{"y": torch.cat(take(ranks, "x"))} for _ in ranks]
