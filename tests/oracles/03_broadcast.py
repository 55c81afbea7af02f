# SPDX-License-Identifier: Apache-2.0
"""y = x_src, on every rank; moved, not computed."""


def oracle(ranks):
    return [{"y": ranks[rank["scalars"]["src"]]["inputs"]["x"]} for rank in ranks]
