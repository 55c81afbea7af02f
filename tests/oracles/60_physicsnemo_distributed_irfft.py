# SPDX-License-Identifier: Apache-2.0
"""The half spectrum X[u,v], v <= NX/2, is completed by Z[u,NX-v] = conj(X[-u mod NY, v]), v = 1 .. NX/2-1, and y[m,n]
= Re (NY NX)^-1/2 sum_{u,v} Z[u,v] exp(+2 pi i (u m / NY + v n / NX)). Rank r has rows r NY/W .. of X and columns r
NX/W .. of y."""

import torch
from common_c import fourier, joined, number


def oracle(ranks):
    half = joined(ranks, "x", 2).cdouble()
    ny, nx = number(ranks, "NY"), number(ranks, "NX")
    mirrored_rows = half[:, :, -torch.arange(ny) % ny]
    full = torch.cat([half, mirrored_rows[..., 1 : nx // 2].flip(-1).conj()], -1)
    image = (fourier(ny, 1) @ full @ fourier(nx, 1)).real
    return [{"y": columns} for columns in image.chunk(len(ranks), 3)]
