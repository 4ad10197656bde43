"""Train a small convolutional network on images made here, with DistributedDataParallel.

Each class is a bright square at a place of its own in a noisy 28x28 picture:

    trainyard submit clients/examples/ddp_cnn.py --name cnn --replicas 2 --epochs 2
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

CLASSES = 9
SIDE = 28


class Squares(Dataset):
    """`count` pictures; item i is the same on every rank and in every epoch."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        generator = torch.Generator().manual_seed(index)
        label = index % CLASSES
        picture = torch.rand(1, SIDE, SIDE, generator=generator) * 0.5
        top, left = 2 + 9 * (label // 3), 2 + 9 * (label % 3)
        picture[0, top : top + 6, left : left + 6] += 0.5
        return picture, label


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Linear(16 * (SIDE // 4) ** 2, CLASSES)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(pictures).flatten(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--samples", type=int, default=720)
    options = parser.parse_args()

    dist.init_process_group(os.environ.get("TRAINYARD_BACKEND", "gloo"))
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = Network()
    trained = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    data = Squares(options.samples)
    sampler = DistributedSampler(data, shuffle=True, seed=3)
    loader = DataLoader(data, batch_size=options.batch_size, sampler=sampler)

    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        sums = torch.zeros(3)
        for pictures, labels in loader:
            optimizer.zero_grad()
            scores = trained(pictures)
            loss = nn.functional.cross_entropy(scores, labels)
            loss.backward()
            optimizer.step()
            right = (scores.argmax(1) == labels).sum().item()
            sums += torch.tensor([loss.item() * len(labels), right, len(labels)])
        dist.all_reduce(sums)
        if rank == 0:
            print(f"epoch={epoch} loss={sums[0] / sums[2]:.4f} accuracy={sums[1] / sums[2]:.4f}")
            folder = os.environ["TRAINYARD_CHECKPOINT_DIR"]
            path = os.path.join(folder, f"epoch-{epoch:03d}.pt")
            torch.save(model.state_dict(), path + ".tmp")
            os.replace(path + ".tmp", path)

    if rank == 0:
        torch.save(model.state_dict(), os.path.join(os.environ["TRAINYARD_OUTPUT_DIR"], "model.pth"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
