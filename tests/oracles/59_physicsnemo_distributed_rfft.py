# SPDX-License-Identifier: Apache-2.0
"""spectrum[b,u,v] = (NY NX)^-1/2 sum_{y,x} field[b,y,x] exp(-2 pi i (u y / NY + v x / NX)), v <= NX/2. Rank r has
columns r NX/W .. of the field and rows r NY/W .. of the spectrum."""

from common_c import fourier, joined


def oracle(ranks):
    field = joined(ranks, "x", 2).double()
    _, ny, nx = field.shape
    columns = fourier(ny, -1) @ field.cdouble()
    spectrum = columns @ fourier(nx, -1)[:, : nx // 2 + 1]
    return [{"spectrum": rows} for rows in spectrum.chunk(len(ranks), 1)]
