# SPDX-License-Identifier: Apache-2.0
"""With psi the sparse filter of rank (p,a) on its latitudes, y[b,c,k,t,n] = sum over p and the entries
(k,t,(lat,lon)) of psi * x[b,c,lat,(lon+n) mod LON] for channels c of azimuth chunk a, and out[b,o,t,n] = bias[o] +
sum_{c,k} weight[o,c,k] * y[b,c,k,t,n]. Rank r = p AZ + a holds latitudes p LAT/PO .. and longitudes a LON/AZ .. of x
and out."""

import torch
from common_c import joined, number


def contract(field, indices, values, shape):
    """sum over the entries (k, t, (lat, lon)) of value * field[b, c, lat, (lon + n) mod LON]; shape is (K, LAT)."""
    longitudes = field.shape[3]
    k, t, point = indices
    shifted = ((point % longitudes)[:, None] + torch.arange(longitudes)) % longitudes
    terms = field[:, :, (point // longitudes)[:, None], shifted] * values[:, None]
    sums = torch.zeros(*field.shape[:2], shape[0] * shape[1], longitudes, dtype=torch.float64)
    return sums.index_add_(2, k * shape[1] + t, terms).unflatten(2, shape)


def oracle(ranks):
    az, shape = number(ranks, "AZ"), (number(ranks, "K"), number(ranks, "LAT"))
    po = len(ranks) // az
    bands = [joined(ranks[p * az : (p + 1) * az], "x", 3).double() for p in range(po)]
    parts = []
    for a in range(az):
        filters = [ranks[p * az + a]["inputs"] for p in range(po)]
        parts.append(sum(contract(band.chunk(az, 1)[a], psi["psi_indices"], psi["psi_values"].double(), shape)
                         for band, psi in zip(bands, filters)))
    y = torch.cat(parts, 1)
    outputs = []
    for r, rank in enumerate(ranks):
        own = y.chunk(po, 3)[r // az].chunk(az, 4)[r % az]
        mixed = torch.einsum("bcktn,ock->botn", own, rank["inputs"]["weight"].double())
        outputs.append({"out": mixed + rank["inputs"]["bias"].double()[:, None, None]})
    return outputs
