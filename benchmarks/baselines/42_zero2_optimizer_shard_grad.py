# SPDX-License-Identifier: Apache-2.0
"""A step of training with sharded optimizer and gradient."""

from training import sharded_step as run  # noqa: F401
