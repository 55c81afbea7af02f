# SPDX-License-Identifier: Apache-2.0
"""y on rank d = x_src[d]; moved, not computed."""


def oracle(ranks):
    return [{"y": ranks[rank["scalars"]["src"]]["inputs"]["x"][d]} for d, rank in enumerate(ranks)]
