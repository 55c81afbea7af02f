# SPDX-License-Identifier: Apache-2.0
"""y = sum over s of x_s, on every rank."""


def oracle(ranks):
    total = sum(rank["inputs"]["x"].double() for rank in ranks)
    return [{"y": total} for _ in ranks]
