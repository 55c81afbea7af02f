# SPDX-License-Identifier: Apache-2.0
"""X = x / |x|, then steps times with the list's next (a, b, c): X = a X + (b G + c G G) X, G = X X^T. X is the ranks'
columns side by side; with partition_dim 0 the transpose of the ranks' rows."""

from common_c import joined

COEFFICIENTS = {
    "quintic": [(4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
                (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012)],
    "polar_express": [(8.2051, -22.9019, 16.4607), (4.0664, -2.8612, 0.5184), (3.9096, -2.8234, 0.5250),
                      (3.2856, -2.4647, 0.5074), (2.2779, -1.6447, 0.4162), (1.8726, -1.2307, 0.3585),
                      (1.8564, -1.2132, 0.3568), (1.8750, -1.2500, 0.3750)],
}


def oracle(ranks):
    scalars = ranks[0]["scalars"]
    dim, coefficients = scalars["partition_dim"], COEFFICIENTS[scalars["coefficient_type"]]
    x = joined(ranks, "x", dim).double()
    x /= x.norm().clamp_min(1e-7)
    if dim == 0:
        x = x.T
    for step in range(int(scalars["steps"])):
        a, b, c = coefficients[step % len(coefficients)]
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    if dim == 0:
        x = x.T
    return [{"y": part.contiguous()} for part in x.chunk(len(ranks), dim)]
