# SPDX-License-Identifier: Apache-2.0
"""The collectives that gloo lacks; on GPUs each is the plain call of torch.distributed."""

import torch
import torch.distributed as dist


def _raw(tensor):
    """gloo knows no 8-bit floats."""
    return tensor.view(torch.uint8) if tensor.is_floating_point() and tensor.element_size() == 1 else tensor


def all_gather(output, tensor, group=None, async_op=False):
    if output.device.type == "cuda":
        return dist.all_gather_into_tensor(output, tensor, group=group, async_op=async_op)
    # gloo wants the parts joined along the first axis, not stacked.
    return dist.all_gather_into_tensor(_raw(output).view(-1), _raw(tensor).reshape(-1), group=group, async_op=async_op)


def reduce_scatter(output, tensor, op=dist.ReduceOp.SUM, group=None, async_op=False):
    return dist.reduce_scatter_tensor(output, tensor, op=op, group=group, async_op=async_op)


def all_to_all(output, tensor, output_splits=None, splits=None, group=None, async_op=False):
    """Splits are host integers, in rows; None: equal parts."""
    if output.device.type != "cuda":
        output, tensor = _raw(output), _raw(tensor)
    return dist.all_to_all_single(output, tensor, output_splits, splits, group=group, async_op=async_op)


def all_to_all_lists(outputs, tensors, group=None):
    """Contiguous tensors of any sizes, one a rank."""
    if tensors[0].device.type == "cuda":
        dist.all_to_all(outputs, tensors, group=group)
        return
    received = torch.empty(sum(t.numel() for t in outputs), dtype=outputs[0].dtype)
    sizes = [t.numel() for t in outputs]
    all_to_all(received, torch.cat([t.reshape(-1) for t in tensors]), sizes, [t.numel() for t in tensors], group)
    for output, part in zip(outputs, received.split(sizes)):
        output.copy_(part.view(output.shape))


class Together:
    """`with Together(device): ...`: its all-reduces, or all-gathers, or reduce-scatters (one kind, one dtype) are one launch."""

    def __init__(self, device, group=None, async_ops=False):
        self._manager = dist._coalescing_manager(group=group, async_ops=async_ops) if device.type == "cuda" else None
        self._work = None

    def __enter__(self):
        if self._manager:
            self._work = self._manager.__enter__()
        return self

    def __exit__(self, *exception):
        if self._manager:
            self._manager.__exit__(*exception)

    def wait(self):
        if self._work:
            self._work.wait()


def all_gather_rows(outputs, tensor, group=None):
    """Contiguous tensors of different numbers of rows, one a rank."""
    if tensor.device.type == "cuda":
        dist.all_gather(outputs, tensor, group=group)
        return
    most = max(output.shape[0] for output in outputs)
    padded = tensor.new_zeros(most, *tensor.shape[1:])
    padded[:tensor.shape[0]].copy_(tensor)
    gathered = tensor.new_empty(len(outputs), *padded.shape)
    all_gather(gathered.flatten(0, 1), padded, group)
    for output, part in zip(outputs, gathered):
        output.copy_(part[:output.shape[0]])


def all_reduce_mean(tensor, group=None):
    if tensor.device.type == "cuda":
        dist.all_reduce(tensor, op=dist.ReduceOp.AVG, group=group)
        return
    dist.all_reduce(tensor, group=group)
    tensor.div_(dist.get_world_size(group))


def reduce_scatter_mean(output, tensor, group=None):
    if tensor.device.type == "cuda":
        dist.reduce_scatter_tensor(output, tensor, op=dist.ReduceOp.AVG, group=group)
        return
    reduce_scatter(output, tensor, group=group)
    output.div_(dist.get_world_size(group))
