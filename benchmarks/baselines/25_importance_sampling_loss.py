# SPDX-License-Identifier: Apache-2.0
"""Importance-sampling loss from the LM head to its metrics; all scalars in one exchange."""

import torch
import torch.nn.functional as F

import exchange


def run(inputs, scalars, params, team):
    labels, ignored = inputs["labels"], scalars["ignore_index"]
    entropy = F.cross_entropy(F.linear(inputs["hidden_states"], inputs["weight"]), labels, ignore_index=ignored, reduction="none")
    invalid = labels == ignored
    rows = entropy.new_empty(6, len(labels))
    loss, ratios, divergence, logprobs, surrogate, valid = rows
    torch.ne(labels, ignored, out=valid)
    torch.neg(entropy, out=logprobs)
    delta = (logprobs - inputs["old_logprobs"]).masked_fill_(invalid, 0).clamp_(-20, 20)
    ratio = delta.exp()
    weighted = (ratio * inputs["advantages"]).masked_fill_(invalid, 0)
    torch.neg(weighted, out=loss)
    torch.mul(weighted, entropy, out=surrogate)
    torch.mul(ratio, valid, out=ratios)
    # 0 where invalid: there the ratio is 1 and delta 0.
    torch.sub(ratio, delta, out=divergence).sub_(1)
    sums = rows.sum(1, dtype=torch.float32)
    least = torch.where(invalid, torch.inf, ratio).amin(0, keepdim=True)
    most = torch.where(invalid, -torch.inf, ratio).amax(0, keepdim=True)
    mine = torch.cat((sums, least, most))
    everyone = mine.new_empty(team.world, len(mine))
    exchange.all_gather(everyone, mine)
    totals = everyone[:, :6].sum(0)
    count = totals[5].clamp_min(1)
    policy, mean_ratio, mean_divergence, mean_logprob = totals[:4].div_(count).unbind()
    local = sums[4] / count
    metrics = torch.stack((mean_ratio, everyone[:, 6].amin(), everyone[:, 7].amax(), mean_divergence, -mean_logprob))
    return {"loss": policy + local - local, "per_token_logprobs": logprobs, "per_token_loss": loss, "metrics": metrics}
