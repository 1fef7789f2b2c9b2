"""The loader beside its limit, beside a per-window Dataset, and its memory on a large panel.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/loader.py --json

All candidates read the same training dates of one panel, windows of W bars, and are compared by
windows per second:

* ``copy_ratio``: our loader over ``torch`` copying the same slices into a reused buffer. Our blocks
  are views, so our time includes one such copy.
* ``dataset0_ratio``, ``dataset2_ratio``: our loader over a Dataset that answers with one asset's
  window and target, in a DataLoader with 0 and 2 workers and as many windows a batch.
* ``memory_ratio``: peak growth of anonymous memory, over the features' bytes, while the datamodule
  makes its tensors of a panel of 5,000 assets and streams an epoch (in a process of its own;
  factors are cached on disk before).

Before any time is taken, our windows and targets are compared with those of the Dataset.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch
from _market import FACTORS, date_ranges, make_store
from _timing import PeakMemory, arguments, interleaved, report
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from quantlit.core import PanelBatch
from quantlit.datamodules import PanelDataModule
from quantlit.features import CrossSectionalRankGaussian, Imputer
from quantlit.functional import window_view
from quantlit.samplers import DateSplit

WINDOW, BLOCK = 60, 128
SLOW_BLOCKS = 4
"""Batches that the per-window Dataset is timed on."""


class WindowDataset(Dataset[tuple[Tensor, Tensor]]):
    """One asset's window and target an item, as most code on the web has it: the reference.

    Args:
        features: ``[N, T, F]``, so that a window is one contiguous slice.
        target: ``[N, T, H]``.
        first: position of the first decision date.
        n_dates: how many decision dates follow; the items of a date are neighbours.
    """

    def __init__(self, features: Tensor, target: Tensor, first: int, n_dates: int) -> None:
        self.features = features
        self.target = target
        self.first = first
        self.n_dates = n_dates

    def __len__(self) -> int:
        return self.n_dates * len(self.features)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        date, asset = divmod(index, len(self.features))
        end = self.first + date + 1
        return self.features[asset, end - WINDOW : end], self.target[asset, end - 1]


class Bench:
    """Our loader and its rivals on one panel: each callable reads a number of windows.

    Ours and the copies run through an epoch, the per-window Dataset through its first blocks.
    """

    def __init__(self, store: Path) -> None:
        self.data = datamodule(store)
        self.data.setup("fit")
        self.tensors = self.data.tensors()
        self.loader = self.data.train_dataloader()
        self.n_blocks = len(self.loader)
        self.n_slow_blocks = min(SLOW_BLOCKS, self.n_blocks)
        self.n_assets = self.tensors.features.shape[1]
        first = next(iter(self.loader)).features
        self.buffer = torch.empty_like(first)
        runs = self.loader.sampler.runs(epoch=0)
        self.slices = [slice(run[0] - WINDOW + 1, run[-1] + 1) for run in runs]
        self.dataset = WindowDataset(
            self.tensors.features.transpose(0, 1).contiguous(),
            self.tensors.target.transpose(0, 1).contiguous(),
            first=int(self.data.positions.train[0]),
            n_dates=len(self.data.positions.train),
        )

    def ours(self) -> None:
        """Our loader, and a copy of each block."""
        for batch in self.loader:
            self.buffer.copy_(batch.features)

    def copy(self) -> None:
        """The same slices, their places known beforehand."""
        for bars in self.slices:
            self.buffer.copy_(self.tensors.features[bars])

    def per_window(self, workers: int) -> Callable[[], None]:
        """The Dataset in a DataLoader."""
        dataset = WindowDataset(
            self.dataset.features,
            self.dataset.target,
            first=self.dataset.first,
            n_dates=self.n_slow_blocks * BLOCK,
        )
        loader = DataLoader(
            dataset,
            batch_size=BLOCK * self.n_assets,
            num_workers=workers,
            persistent_workers=workers > 0,
        )

        def read() -> None:
            for _ in loader:
                pass

        return read

    def check(self) -> None:
        """Raise unless our blocks hold exactly the windows and targets of the Dataset."""
        batches: Iterator[PanelBatch] = iter(self.loader)
        for _, batch in zip(range(3), batches, strict=False):
            start = (int(batch.dates[0]) - self.dataset.first) * self.n_assets
            items = [self.dataset[start + item] for item in range(BLOCK * self.n_assets)]
            windows = torch.stack([window for window, _ in items], dim=1)
            targets = torch.stack([target for _, target in items])
            torch.testing.assert_close(
                window_view(batch.features, WINDOW), windows, rtol=0.0, atol=0.0
            )
            torch.testing.assert_close(
                batch.target.flatten(0, 1), targets, rtol=0.0, atol=0.0, equal_nan=True
            )


def datamodule(store: Path) -> PanelDataModule:
    return PanelDataModule(
        panel=str(store),
        split=DateSplit(**date_ranges(store)),
        factors=list(FACTORS),
        transforms=[CrossSectionalRankGaussian(), Imputer()],
        window=WINDOW,
        block=BLOCK,
    )


def stream(store: Path) -> tuple[int, int]:
    """Peak anonymous memory of making the tensors and streaming an epoch; bytes of the features."""
    data = datamodule(store)
    data.setup("fit")
    with PeakMemory() as memory:
        for batch in data.train_dataloader():
            batch.features.sum()  # reads all of it
    features = data.tensors().features
    return memory.growth, features.numel() * features.element_size()


def in_child(function: Callable[..., Any], *args: object) -> Any:
    """A function's result from a fresh process, whose memory is its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *args).result()


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--folder", type=Path, help="keep the panels here; default: nowhere")
    args = parser.parse_args()
    small, large, dates = (20, 60, 400) if args.quick else (300, 5000, 2500)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        bench = Bench(in_child(make_store, folder, small, dates))
        bench.check()
        fast = interleaved(
            {"ours": bench.ours, "copy": bench.copy}, 3 if args.quick else 300, quantile=0.1
        )
        slow = interleaved(
            {"ours": bench.ours, "0": bench.per_window(0), "2": bench.per_window(2)},
            1 if args.quick else 4,
        )
        growth, size = in_child(stream, in_child(make_store, folder, large, dates))
    block = BLOCK * bench.n_assets
    epoch, part = bench.n_blocks * block, bench.n_slow_blocks * block
    print(f"{small} assets x {dates} dates x {len(FACTORS)} features, W = {WINDOW}, D = {BLOCK}")
    for name, rate in (
        ("our loader and a copy", epoch / fast["ours"]),
        ("torch copy", epoch / fast["copy"]),
        ("per-window Dataset, 0 workers", part / slow["0"]),
        ("per-window Dataset, 2 workers", part / slow["2"]),
    ):
        print(f"{name:<32}{rate:>16,.0f} windows/s")
    print(f"{large} assets: {growth / 2**20:,.0f} MiB for {size / 2**20:,.0f} MiB of features\n")
    ours = epoch / slow["ours"]
    report(
        {
            "copy_ratio": fast["copy"] / fast["ours"],
            "dataset0_ratio": ours / (part / slow["0"]),
            "dataset2_ratio": ours / (part / slow["2"]),
            "memory_ratio": growth / size,
        },
        args.json,
    )


if __name__ == "__main__":
    main()
