# SPDX-License-Identifier: Apache-2.0
"""Layer-blocked extended Kalman filter step; the weights travel while P is updated."""

import torch
import torch.distributed as dist

from exchange import all_gather


def run(inputs, scalars, params, team):
    h, p, weights = inputs["H"], inputs["P"], inputs["weights"]
    forgetting, nue = scalars["kalman_lambda"], scalars["kalman_nue"]
    gain = torch.bmm(p, h)
    total = torch.dot(h.view(-1), gain.view(-1)).add_(len(h) * forgetting)
    dist.all_reduce(total)
    scale = total.reciprocal_()
    new_weights = torch.addcmul(weights, gain, scale * inputs["error"])
    all_weights = weights.new_empty(team.world * len(weights), *weights.shape[1:])
    work = all_gather(all_weights, new_weights, async_op=True)
    left = gain * (scale / -forgetting)
    p_out = torch.empty_like(p)
    for i in range(len(p)):
        torch.addr(p[i], left[i, :, 0], gain[i, :, 0], beta=1 / forgetting, out=p_out[i])
    following = torch.full((), nue * forgetting + 1 - nue, dtype=torch.float64, device=p.device)
    work.wait()
    return {"all_weights": all_weights, "P_out": p_out, "kalman_lambda_next": following}
