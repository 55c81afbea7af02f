# SPDX-License-Identifier: Apache-2.0
"""C on rank r = rows r*M/W .. (r+1)*M/W - 1 of the sum over s of A_s B_s."""


def oracle(ranks):
    product = sum(rank["inputs"]["A_local"].double() @ rank["inputs"]["B_local"].double() for rank in ranks)
    return [{"C_local": part} for part in product.chunk(len(ranks))]
