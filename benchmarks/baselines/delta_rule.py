# SPDX-License-Identifier: Apache-2.0
"""The delta rule S <- diag(decay) S, u = b (v - S^T k), S <- S + k u^T, a chunk of tokens at once: inside a chunk it is a
triangular system, between chunks an affine map of the state."""

import torch


def by_chunks(tensor, size):
    """fp32 [batch, heads, chunks, size, ..] of [parts, batch, tokens, heads, ..]."""
    parts, batch, tokens, heads, *rest = tensor.shape
    turned = tensor.transpose(1, 2).movedim(3, 0).movedim(3, 0)
    return turned.to(torch.float32, memory_format=torch.contiguous_format).view(batch, heads, parts * tokens // size, size, *rest)


def states_and_updates(scores, faded, lasting, v, beta, kept, first):
    """From chunk `first` on: the states at the start of the chunks, and u.

    [.., chunks, tokens, channels] each: scores k_i k_j times decay from j to i (below the diagonal), faded k times decay
    since the start of the chunk, lasting k times decay until its end, and kept [.., chunks, channels or 1], decay of a chunk.
    """
    beta = beta[..., None]
    right = torch.cat([v * beta, faded * beta], -1)
    own, of_state = torch.linalg.solve_triangular(scores * beta, right, upper=False, unitriangular=True).split(
        [v.shape[-1], faded.shape[-1]], -1)
    *outer, chunks, _, channels = faded.shape
    states = v.new_zeros(chunks, *outer, channels, v.shape[-1]).flatten(1, -3)
    if chunks > 1:
        until = slice(None, chunks - 1)
        turned = lasting[..., until, :, :].mT
        steps = (turned @ of_state[..., until, :, :]).neg_()
        steps.diagonal(dim1=-2, dim2=-1).add_(kept[..., until, :])
        steps, gains = (t.flatten(0, -4) for t in (steps, turned @ own[..., until, :, :]))
        states[1] = gains[:, 0]
        for i in range(1, chunks - 1):
            torch.baddbmm(gains[:, i], steps[:, i], states[i], out=states[i + 1])
    at_start = states[first:].transpose(0, 1).unflatten(0, outer)
    return at_start, own[..., first:, :, :] - of_state[..., first:, :, :] @ at_start
