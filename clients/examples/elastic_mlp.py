"""Train with workers that come and go: torchrun starts this script anew in every worker whenever their number changes,
and it goes on from its last checkpoint.

    trainyard submit clients/examples/elastic_mlp.py --name elastic --elastic 1:3 --no-follow
    trainyard scale elastic 3
    trainyard logs elastic --follow
"""

from __future__ import annotations

import argparse
import glob
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FEATURES = 64


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds after each epoch, to have time to watch")
    return parser.parse_args()


def newest_checkpoint() -> str | None:
    """Its name has the epoch with leading zeros, so the last by name is the newest."""
    return max(glob.glob(os.path.join(os.environ["TRAINYARD_CHECKPOINT_DIR"], "epoch-*.pt")), default=None)


def save_checkpoint(model: nn.Module, epoch: int) -> None:
    """Write beside the target and rename, so that nobody ever sees half a checkpoint."""
    path = os.path.join(os.environ["TRAINYARD_CHECKPOINT_DIR"], f"epoch-{epoch:05d}.pt")
    torch.save({"model": model.state_dict(), "epoch": epoch}, path + ".tmp")
    os.replace(path + ".tmp", path)


def train_epoch(model: nn.Module, optimizer: torch.optim.Optimizer, target: torch.Tensor) -> float:
    loss = torch.zeros(())
    for _ in range(20):
        points = torch.randn(64, FEATURES)
        loss = (model(points).squeeze(1) - points @ target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main() -> None:
    options = parse()
    dist.init_process_group("gloo")
    model = nn.Linear(FEATURES, 1)
    first = 0
    if path := newest_checkpoint():
        state = torch.load(path, map_location="cpu")
        model.load_state_dict(state["model"])
        first = state["epoch"] + 1
    trained = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.01)
    target = torch.linspace(-1, 1, FEATURES)
    print(f"world_size={dist.get_world_size()} rank={dist.get_rank()} first_epoch={first}", flush=True)
    for epoch in range(first, options.epochs):
        loss = train_epoch(trained, optimizer, target)
        if dist.get_rank() == 0:
            print(f"epoch={epoch} loss={loss:.4f}", flush=True)
            save_checkpoint(model, epoch)
        time.sleep(options.pause)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
