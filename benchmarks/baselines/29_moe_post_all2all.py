# SPDX-License-Identifier: Apache-2.0
"""Rows put in the order of their ranks, exchanged, and summed by token with their weights."""

import torch.distributed as dist
import torch.nn.functional as F

import chunks


ON_HOST = ("input_splits", "output_splits")


def run(inputs, scalars, params, team):
    rows, routing_map = inputs["expert_outputs"], inputs["routing_map"]
    sent, received = inputs["output_splits"].tolist(), inputs["input_splits"].tolist()
    order = chunks.reordered(inputs["num_global_tokens_per_local_expert"].t(), len(rows))
    arrived = rows.new_empty(sum(received), rows.shape[1])
    work = dist.all_to_all_single(arrived, rows[order], received, sent, async_op=True)
    # Row i is the i-th pair of the map, by expert, then token.
    places = routing_map.view(-1).cumsum(0).view(routing_map.shape).t().gather(1, inputs["selected_experts"]).sub_(1)
    work.wait()
    return {"hidden_out": F.embedding_bag(places, arrived, mode="sum", per_sample_weights=inputs["routing_weights"])}
