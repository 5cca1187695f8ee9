"""Functions as functions of PyTorch, on the CPU, with gradients of gradients."""

import numpy as np
import torch

from ._errors import ArgumentError


def function(f):
    """The function of tensors; `backward` calls its derivative, which can be differentiated again."""
    arity = f.arity

    class Call(torch.autograd.Function):
        @staticmethod
        def forward(context, *args):
            context.save_for_backward(*args)
            return _tensor(f(*(_given(arg) for arg in args)), args)

        @staticmethod
        def backward(context, bar):
            pull = function(_vjp(f))
            pulled = pull.of_pairs(context.saved_tensors, bar)
            return pulled[0] if arity == 1 and isinstance(pulled, (list, tuple)) else pulled

    def called(*args):
        tensors = [torch.as_tensor(arg) for arg in args]
        if len(tensors) != arity:
            raise ArgumentError(f"{f.__name__} : {f.type_} takes {arity} arguments, {len(tensors)} were given")
        return Call.apply(*tensors)

    def of_pairs(args, bar):
        class Pull(torch.autograd.Function):
            @staticmethod
            def forward(context, bar, *args):
                context.save_for_backward(bar, *args)
                point = tuple(_given(arg) for arg in args)
                bars = f(point[0] if len(args) == 1 else point, _given(bar))[1]
                bars = (bars,) if len(args) == 1 else bars
                return tuple(_tensor(b, args) for b in bars)

            @staticmethod
            def backward(context, *dots):
                # The pullback is linear in the cotangent, and its derivative by the point comes from `vjp` of it.
                bar, *args = context.saved_tensors
                point = tuple(_given(arg) for arg in args)
                at = point[0] if len(args) == 1 else point
                back = f._vjp([0, 1])
                directions = tuple(_given(dot) for dot in dots)
                value = f(at, _given(bar))[0]
                cotangent = (np.zeros_like(value) if isinstance(value, np.ndarray) else 0.0,
                             directions[0] if len(args) == 1 else directions)
                by_point, by_bar = back((at, _given(bar)), cotangent)[1]
                by_point = (by_point,) if len(args) == 1 else by_point
                return (_tensor(by_bar, args), *(_tensor(b, args) for b in by_point))

        return Pull.apply(bar, *args)

    called.of_pairs = of_pairs
    called.__name__, called.__doc__ = f.__name__, f.__doc__
    return called


_pullbacks = {}


def _vjp(f):
    if f not in _pullbacks:
        _pullbacks[f] = f._vjp(list(range(f.arity)))
    return _pullbacks[f]


def _given(tensor):
    array = tensor.detach().cpu().double().numpy() if tensor.is_floating_point() else tensor.detach().cpu().numpy()
    return array if array.ndim else array.item()


def _tensor(value, like):
    dtype = next((x.dtype for x in like if x.is_floating_point()), torch.float64)
    return torch.as_tensor(np.asarray(value), dtype=dtype)
