# SPDX-License-Identifier: Apache-2.0
"""Tokens permuted by expert, exchanged, and put in the order of the local experts."""

import torch
import torch.distributed as dist

import chunks


ON_HOST = ("input_splits", "output_splits")


def run(inputs, scalars, params, team):
    hidden, mask = inputs["hidden_states"], inputs["expert_mask"]
    sent, received = inputs["input_splits"].tolist(), inputs["output_splits"].tolist()
    routing_map = torch.sum(mask, 1, out=mask.new_empty(mask.shape[0], mask.shape[2]))
    mapping = torch.nonzero_static(routing_map, size=sum(sent))[:, 1].contiguous()
    arrived = hidden.new_empty(sum(received), hidden.shape[1])
    work = dist.all_to_all_single(arrived, hidden[mapping], received, sent, async_op=True)
    order = chunks.reordered(inputs["num_global_tokens_per_local_expert"], len(arrived))
    work.wait()
    return {"global_permuted_hidden_states": arrived[order], "routing_map": routing_map, "local_input_permutation_mapping": mapping,
            "org_hidden_states_shape": torch.tensor(hidden.shape)}
