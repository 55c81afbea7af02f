# SPDX-License-Identifier: Apache-2.0
"""y = sum over s of A_s B_s, on every rank."""


def oracle(ranks):
    y = sum(rank["inputs"]["A_local"].double() @ rank["inputs"]["B_local"].double() for rank in ranks)
    return [{"y": y} for _ in ranks]
