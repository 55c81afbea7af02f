# SPDX-License-Identifier: Apache-2.0
"""A step of training with sharded optimizer."""

from training import sharded_step as run  # noqa: F401
