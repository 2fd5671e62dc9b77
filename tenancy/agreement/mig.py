"""How many MIG instances of one profile a GPU can be cut into.

Source: NVIDIA, "MIG User Guide", supported profiles, table "Number of instances available" per product. A row is a
GPU product, a cell the profile and its count.
"""

from __future__ import annotations

_80GB = {"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1}

GEOMETRY: dict[str, dict[str, int]] = {
    "A100-40GB": {"1g.5gb": 7, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1},
    "A100-80GB": _80GB,
    "H100-80GB": _80GB,
}

GPU = "nvidia.com/gpu"
PRODUCT_LABEL = "nvidia.com/gpu.product"  # set by NVIDIA's GPU feature discovery


def slices_per_gpu(gpu: str, profile: str) -> int | None:
    """Instances of `profile` that fit one `gpu`; None when the GPU cannot be cut so."""
    return GEOMETRY.get(gpu, {}).get(profile)


def resource_name(profile: str, strategy: str) -> str:
    """The extended resource a slice is asked for by: its own name with strategy `mixed`, the GPU's with `single`."""
    return f"nvidia.com/mig-{profile}" if strategy == "mixed" else GPU
