"""Two processes a replica under torchrun: every process adds its rank, and all must agree on the sum.

    trainyard submit clients/examples/torchrun_sum.py --name sum --launcher torchrun --replicas 2 \
        --processes-per-replica 2
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    total = torch.tensor([rank])
    dist.all_reduce(total)
    print(f"rank={rank} local_rank={os.environ['LOCAL_RANK']} world_size={world} sum={total.item()}", flush=True)
    assert total.item() == world * (world - 1) // 2
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
