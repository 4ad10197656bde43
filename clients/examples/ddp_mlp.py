"""Train a small classifier with DistributedDataParallel on data made here; save checkpoints and resume from them.

Runs with any number of replicas:

    trainyard submit clients/examples/ddp_mlp.py --name mlp --replicas 3 --epochs 5 --param learning_rate=0.05
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

FEATURES = 64
CLASSES = 10


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--learning_rate", type=float, default=0.05)
    parser.add_argument("--samples", type=int, default=4096)
    return parser.parse_args()


def make_data(samples: int) -> TensorDataset:
    """Points around one centre a class: the same on every rank, because the seed is the same."""
    generator = torch.Generator().manual_seed(7)
    centres = torch.randn(CLASSES, FEATURES, generator=generator) * 0.35
    labels = torch.randint(0, CLASSES, (samples,), generator=generator)
    points = centres[labels] + torch.randn(samples, FEATURES, generator=generator)
    return TensorDataset(points, labels)


def load_checkpoint(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """The epoch to begin with: 0, or the one after the checkpoint that the gateway names."""
    path = os.environ.get("TRAINYARD_RESUME_FROM")
    if not path:
        return 0
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1


def save_checkpoint(model: nn.Module, optimizer: torch.optim.Optimizer, epoch: int) -> None:
    """Write beside the target and rename, so that nobody ever sees half a checkpoint."""
    path = os.path.join(os.environ["TRAINYARD_CHECKPOINT_DIR"], f"epoch-{epoch:03d}.pt")
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def main() -> None:
    options = parse()
    dist.init_process_group(os.environ.get("TRAINYARD_BACKEND", "gloo"))
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=options.learning_rate, momentum=0.9)
    first = load_checkpoint(model, optimizer)
    trained = DistributedDataParallel(model)
    data = make_data(options.samples)
    sampler = DistributedSampler(data, shuffle=True, seed=3)
    loader = DataLoader(data, batch_size=options.batch_size, sampler=sampler)
    if rank == 0:
        print(f"world_size={world} epochs={first}..{options.epochs - 1} samples={len(data)}")

    for epoch in range(first, options.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(2)
        for points, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(trained(points), labels)
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item() * len(labels), len(labels)])
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch={epoch} loss={total[0] / total[1]:.4f}")
            save_checkpoint(model, optimizer, epoch)

    if rank == 0:
        path = os.path.join(os.environ["TRAINYARD_OUTPUT_DIR"], "model.pth")
        torch.save(model.state_dict(), path)
        print(f"saved {path}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
