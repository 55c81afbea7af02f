# SPDX-License-Identifier: Apache-2.0
"""What several of the oracles 33 to 43, 49 to 58, 74, 75 and 77 share: rounding, attention, training step, experts."""
import numpy as np
import torch

PARAMETERS = ["W1", "b1", "W2", "b2"]


def take(ranks, name):
    """The ranks' inputs of that name, bits kept."""
    return [rank["inputs"][name] for rank in ranks]


def wide(rank, *names):
    """One rank's inputs in fp64."""
    return [rank["inputs"][name].double() for name in names]


def wide_cat(ranks, name, axis):
    """The ranks' inputs of that name in fp64, joined along an axis in rank order."""
    return torch.cat(take(ranks, name), axis).double()


def bf16(x):
    """x rounded to fp32 and then to bf16, to nearest even, as fp64."""
    return x.float().bfloat16().double()


def linear(x, weight, bias=0.0):
    """bf16(x weight^T + bias)"""
    return bf16(x @ weight.T + bias)


# Attention, tensors [batch, token, head, channel] in fp64.

def attention_scores(q, k, scale=None, causal=False):
    """scale q k^T, [batch, head, query, key]; left out, scale is channels^-0.5. Causal: -inf where key > query."""
    scores = torch.einsum("bihd,bjhd->bhij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf) if causal else scores


def attend(weights, v):
    """sum over keys j of weights[b, h, i, j] v[b, j, h, :]"""
    return torch.einsum("bhij,bjhd->bihd", weights, v)


def attention(q, k, v, scale=None, causal=False):
    return attend(attention_scores(q, k, scale, causal).softmax(-1), v)


def attention_layer(x, w_qkv, w_o, heads, scale, causal):
    """bf16 projection to q, k and v (rows of w_qkv in that order, head-major), attention, bf16, bf16 projection."""
    q, k, v = linear(x, w_qkv).unflatten(-1, (3, heads, -1)).unbind(2)
    return linear(bf16(attention(q, k, v, scale, causal)).flatten(2), w_o)


def normalise(x, eps):
    """x / max(|x|_2, eps) along the last axis."""
    return x / x.norm(dim=-1, keepdim=True).clamp(min=eps)


def delta_rule(q, k, v, decay, beta):
    """From S = 0, token by token: S <- diag(decay) S, S <- S + k (beta (v - S^T k))^T, o = S^T q.

    q, k [batch, token, head, K], v and o [batch, token, head, V], decay [batch, token, head, K or 1], beta
    [batch, token, head].
    """
    state = torch.zeros(*q[:, 0].shape, v.shape[-1], dtype=torch.float64)
    out = []
    for t in range(q.shape[1]):
        state = decay[:, t, :, :, None] * state
        seen = torch.einsum("bhkv,bhk->bhv", state, k[:, t])
        state = state + torch.einsum("bhk,bhv->bhkv", k[:, t], beta[:, t, :, None] * (v[:, t] - seen))
        out.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]))
    return torch.stack(out, 1)


# A training step of an MLP whose parameters come from rank 0, flattened in the order of PARAMETERS.

def flat(tensors):
    return torch.cat([tensor.flatten() for tensor in tensors])


def cut(vector, rank):
    """The flat vector as tensors of the shapes of PARAMETERS."""
    shapes = [rank["inputs"][name].shape for name in PARAMETERS]
    return [part.view(shape) for part, shape in zip(vector.split([shape.numel() for shape in shapes]), shapes)]


def mean_gradient(ranks):
    """Gradient of the mean over a rank's entries of (o - y)^2, o = max(X W1^T + b1, 0) W2^T + b2, averaged over ranks.

    bf16 at every step; the sum over ranks is a bf16 sum in rank order.
    """
    w1, b1, w2, b2 = wide(ranks[0], *PARAMETERS)
    total = torch.zeros((), dtype=torch.float64)
    for rank in ranks:
        x, y = wide(rank, "X_local", "y_local")
        h = linear(x, w1, b1).relu()
        o = linear(h, w2, b2)
        go = bf16(bf16(torch.tensor(2.0 / o.numel())) * bf16(o - y))
        ga = bf16(go @ w2) * (h > 0)
        total = bf16(total + bf16(flat([ga.T @ x, ga.sum(0), go.T @ h, go.sum(0)])))
    return bf16(total / len(ranks))


def adam(p, m, v, g, scalars):
    """One step of Adam with bias correction, every operation rounded to bf16: the new p, m and v."""
    lr, beta1, beta2, eps, step = (scalars[name] for name in ["lr", "beta1", "beta2", "eps", "step"])
    m = bf16(bf16(beta1 * m) + (1 - beta1) * g)
    v = bf16(bf16(beta2 * v) + (1 - beta2) * g * g)
    root = bf16(bf16(v / (1 - beta2 ** step)).sqrt())
    ratio = bf16(bf16(m / (1 - beta1 ** step)) / bf16(root + eps))
    return bf16(p + bf16(-lr * ratio)), m, v


def sharded_step(ranks):
    """A training step in which rank r has the moments of, and updates, the r-th of W equal parts of the parameters."""
    moments = [wide_cat(ranks, name, 0) for name in ["exp_avg_part", "exp_avg_sq_part"]]
    p, m, v = adam(flat(wide(ranks[0], *PARAMETERS)), *moments, mean_gradient(ranks), ranks[0]["scalars"])
    new = {f"{name}_new": part for name, part in zip(PARAMETERS, cut(p, ranks[0]))}
    shards = zip(m.chunk(len(ranks)), v.chunk(len(ranks)))
    return [{**new, "m_part": m_part, "v_part": v_part} for m_part, v_part in shards]


# A layer of experts in one group of ranks.

def swiglu(x, rank, index):
    """bf16(silu(x G^T + b) * (x U^T + c)) D^T + d with the index-th MLP of a rank, bf16 at every step."""
    weights = {}
    for name in ["gate_proj", "up_proj", "down_proj"]:
        weight, bias = wide(rank, f"{name}_weight", f"{name}_bias")
        weights[name] = weight.view(-1, *weight.shape[-2:])[index], bias.view(-1, bias.shape[-1])[index]
    a = linear(x, *weights["gate_proj"])
    return linear(bf16(bf16(a * a.sigmoid()) * linear(x, *weights["up_proj"])), *weights["down_proj"])


def moe(members):
    """out[t] = sum over the top_k experts e of softmax(router(x_t))[e] * MLP_e(x_t), not renormalised.

    Equal parts of the experts lie with the members in their order; a member has an MLP for each, or one for all.
    """
    experts, top_k = members[0]["scalars"]["num_experts"], members[0]["scalars"]["top_k"]
    local = experts // len(members)
    results = []
    for member in members:
        x, gate_weight, gate_bias = wide(member, "hidden_states", "gate_weight", "gate_bias")
        weight, chosen = bf16(linear(x, gate_weight, gate_bias).softmax(-1)).topk(top_k)
        out = torch.zeros_like(x)
        for e in range(experts):
            token, place = (chosen == e).nonzero(as_tuple=True)
            sets = members[e // local]["params"].get("C", 1)
            y = swiglu(x[token], members[e // local], e % local if sets > 1 else 0)
            out[token] = bf16(out[token] + bf16(y * weight[token, place, None]))
        results.append({"out": out})
    return results


# fp8.

def e4m3(x):
    """The fp32 array x rounded to fp8 e4m3fn: to nearest even, 3 fraction bits, step 2^-9 below 2^-6, at most 448."""
    exponent = np.maximum(np.frexp(x)[1] - 1, -6)
    return np.clip(np.ldexp(np.rint(np.ldexp(x, 3 - exponent)), exponent - 3), -448, 448)


def delayed_scaling(x, history):
    """x through fp8 with scale max(history')/448, and history', which is the history moved down by one, then max|x|.

    Bit for bit: fp32 at every step, the scale by multiplication with fl32(1/448), the result in bf16.
    """
    history = torch.cat([history[1:], x.abs().max()[None]])
    scale = np.float32(history.max().clamp(min=1e-12).item()) * np.float32(1 / 448)
    return torch.from_numpy(e4m3(x.float().numpy() / scale) * scale).bfloat16(), history
