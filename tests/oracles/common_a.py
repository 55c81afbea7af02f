# SPDX-License-Identifier: Apache-2.0
"""What several oracles share: roundings, exchanges, the expert-parallel MoE layer, gradient clipping, fp8 codes.

Numbers are held in fp64, also where round_bf16 has rounded them.
"""

import torch


def inputs(ranks, name):
    """The input of every rank, in fp64."""
    return [rank["inputs"][name].double() for rank in ranks]


def raw(ranks, name):
    """The input of every rank as it is."""
    return [rank["inputs"][name] for rank in ranks]


def round_bf16(x):
    """To nearest even, of the fp32 result a kernel would have."""
    return x.float().bfloat16().double()


def silu(x):
    return x / (1 + torch.exp(-x))


def cut(x, sizes):
    """Consecutive row blocks of these sizes, from the first row on."""
    ends = torch.tensor([0, *sizes]).cumsum(0).tolist()
    return [x[a:b] for a, b in zip(ends, ends[1:])]


def all_to_all(sent):
    """sent[s][d] goes from s to d; every rank joins what it gets in the order of the sources."""
    return [torch.cat(parts) for parts in zip(*sent)]


def choose(p, k):
    """The k largest of each row and their columns, largest first, the lower column first among equals."""
    values, columns = torch.sort(p, dim=1, descending=True, stable=True)
    return values[:, :k], columns[:, :k]


def moe(ranks, expert):
    """out[t] = sum_k w[t, k] * expert_{sel[t, k] // (E/W)}(hidden[t]); bf16 router, no renormalisation.

    `expert(tensors, rows)` is the MLP of the rank with these inputs. Every product and every addition is rounded.
    """
    per_rank = ranks[0]["params"]["E"] // len(ranks)
    tensors = [{name: x.double() for name, x in rank["inputs"].items()} for rank in ranks]
    results = []
    for own in tensors:
        hidden = own["hidden_states"]
        logits = round_bf16(hidden @ own["gate_weight"].T + own["gate_bias"])
        weights, experts = choose(round_bf16(torch.softmax(logits, 1)), ranks[0]["params"]["K"])
        out = torch.zeros_like(hidden)
        for weight, owner in zip(weights.T, experts.T // per_rank):
            y = torch.empty_like(hidden)
            for d, its in enumerate(tensors):
                y[owner == d] = expert(its, hidden[owner == d])
            out = round_bf16(out + round_bf16(y * weight[:, None]))
        results.append({"out": out})
    return results


def clip(grads, total_norm, max_norm):
    """The gradients times max_norm / total_norm, where the norm exceeds max_norm; else as they are."""
    return [g.double() * (max_norm / total_norm) for g in grads] if total_norm > max_norm else grads


def e4m3_values():
    """The value of each of the 256 codes of fp8 E4M3 (fn: no infinities, NaN = 0x7F and 0xFF)."""
    code = torch.arange(256)
    exponent, mantissa = code >> 3 & 15, (code & 7).double()
    size = torch.where(exponent == 0, mantissa * 2**-9, (1 + mantissa / 8) * torch.exp2(exponent.double() - 7))
    size[code & 127 == 127] = torch.nan
    return torch.where(code < 128, size, -size)


def e4m3_code(x):
    """The nearest code, of two equally near ones the even one; beyond +-448 the last; -0.0 keeps its sign."""
    sizes = e4m3_values()[:127]
    x = x.double()
    above = torch.searchsorted(sizes, x.abs()).clamp(1, 126)
    low, high = x.abs() - sizes[above - 1], sizes[above] - x.abs()
    code = torch.where((low < high) | ((low == high) & (above % 2 == 1)), above - 1, above)
    return (code + 128 * torch.signbit(x)).to(torch.uint8)
