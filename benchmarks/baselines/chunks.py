# SPDX-License-Identifier: Apache-2.0
"""Chunks of rows in another order, as a gather whose indices the host never sees (problems 28 and 29)."""

import torch


def reordered(counts, rows):
    """Indices that put chunks of counts[i, j] rows, which lie i outer, in the order j outer; `rows` in all."""
    after = counts.t().reshape(-1).cumsum(0)
    before = counts.reshape(-1).cumsum(0).view(counts.shape).t().reshape(-1)
    row = torch.arange(rows, device=counts.device)
    return (before - after)[torch.searchsorted(after, row, right=True)].add_(row)
