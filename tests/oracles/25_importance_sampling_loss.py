# SPDX-License-Identifier: Apache-2.0
"""new = log softmax(hidden weight^T)[label], delta = clamp(new - old, -20, 20), rho = exp(delta) of valid tokens, whose
label is not -100. loss = -sum rho*adv / n; metrics: mean, min and max of rho, mean of rho - delta - 1, mean of -new.

Rounded to bf16 wherever the specification says (a step of a log-probability moves rho by 6 %), but for the sums over
ranks. The surrogate that the loss adds and takes away again leaves only fp32 noise and is left out.
"""

import torch
from common_a import inputs, raw, round_bf16


# The reference's log-probabilities pass through bf16, as the specification has it: one step of theirs is more than a third
# of what the losses are allowed.
LIMITS = {"loss": 0.7, "per_token_loss": 0.5, "metrics": 0.5}


def oracle(ranks):
    ignored = ranks[0]["scalars"]["ignore_index"]
    columns = ("hidden_states", "weight", "old_logprobs", "advantages")
    count, sums, least, largest, results = 0, torch.zeros(4, dtype=torch.float64), torch.inf, -torch.inf, []
    for label, hidden, weight, old, advantage in zip(raw(ranks, "labels"), *(inputs(ranks, name) for name in columns)):
        valid = label != ignored
        logits = round_bf16(hidden @ weight.T)
        picked = torch.log_softmax(logits, 1).gather(1, label.where(valid, 0)[:, None])[:, 0]
        new = round_bf16(picked).where(valid, 0.0)
        delta = round_bf16(new - old).where(valid, 0.0).clamp(-20, 20)
        rho = round_bf16(torch.exp(delta))
        loss = -round_bf16(rho * advantage).where(valid, 0.0)
        results.append({"per_token_logprobs": new, "per_token_loss": loss})

        k3 = round_bf16(round_bf16(rho - delta) - 1)
        sums += round_bf16(torch.stack([x[valid].sum() for x in (loss, rho, k3, -new)]))
        count += int(valid.sum())
        least = min([least, *rho[valid].tolist()])
        largest = max([largest, *rho[valid].tolist()])
    loss, ratio, k3, entropy = (sums / max(count, 1)).tolist()
    metrics = torch.tensor([ratio, least, largest, k3, entropy], dtype=torch.float64)
    return [{**own, "loss": torch.tensor(loss, dtype=torch.float64), "metrics": metrics} for own in results]
