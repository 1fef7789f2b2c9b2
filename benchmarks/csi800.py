"""The csi800 table: test rank IC by loss and by way of training, everything chosen on validation.

    QUANTLIT_DATA=... python benchmarks/csi800.py --json

Trains ``configs/csi800_lstm.yaml`` with the loss MSE alone, rank alone and composite (one pass,
three seeds each), the composite once on windows, and on Qlib's 158 factors with all else the same
(three seeds). The epoch is chosen by validation rank IC; the
test dates are scored once, with that checkpoint. Finished runs are kept and not repeated.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from _timing import arguments, report
from lightning.pytorch.callbacks import ModelCheckpoint

from quantlit.cli.configs import configs_dir
from quantlit.cli.lightning import run_trainer

CONFIG = configs_dir() / "csi800_lstm.yaml"
FLOOR = {"rank_ic": 0.0724, "rank_icir": 0.592}
_TERMS = "--model.init_args.loss.init_args.terms"
_MSE = "{class_path: quantlit.losses.MaskedMSE}"
_RANK = "{class_path: quantlit.losses.SoftSpearmanLoss, init_args: {temperature: 0.2}}"
_ONE_PASS = "--model.init_args.forecaster.init_args.one_pass"

ROWS: dict[str, list[str]] = {
    "composite": [],
    "mse": [f"{_TERMS}={{mse: {{weight: 1.0, loss: {_MSE}}}}}"],
    "rank": [f"{_TERMS}={{rank: {{weight: 1.0, loss: {_RANK}}}}}"],
    "composite, windowed": [f"{_ONE_PASS}=false"],
    "composite, alpha158": ["--data.init_args.factors=[alpha158_ohlc4]"],
}


def run(name: str, seed: int, folder: Path, extra: list[str]) -> dict[str, Any]:
    """Train and test one row with one seed; a finished run is read, not repeated."""
    options = [*ROWS[name], *extra]
    key = hashlib.sha256(
        (CONFIG.read_text() + (configs_dir() / "default.yaml").read_text() + str(options)).encode()
    ).hexdigest()[:12]
    done = folder / f"{name.replace(', ', '_')}_{seed}_{key}.json"
    if done.exists():
        return dict(json.loads(done.read_text()))
    start = time.perf_counter()
    cli = run_trainer(
        [
            "fit",
            f"--config={CONFIG}",
            f"--seed_everything={seed}",
            f"--trainer.logger.init_args.save_dir={folder}",
            f"--trainer.logger.init_args.name={done.stem}",
            *options,
        ]
    )
    seconds = time.perf_counter() - start
    best = cli.trainer.checkpoint_callback
    assert isinstance(best, ModelCheckpoint)
    cli.trainer.test(
        cli.model, datamodule=cli.datamodule, ckpt_path=best.best_model_path, verbose=False
    )
    scores = {name: float(value) for name, value in cli.trainer.callback_metrics.items()}
    result = {
        "row": name,
        "seed": seed,
        "valid_rank_ic": float(best.best_model_score),
        "rank_ic": scores["test/rank_ic"],
        "rank_icir": scores["test/rank_icir"],
        "ic": scores["test/ic"],
        "fit_seconds": seconds,
    }
    done.write_text(json.dumps(result))
    return result


def summarise(name: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean over seeds, and the standard deviation of the rank IC between them."""
    keys = ("valid_rank_ic", "rank_ic", "rank_icir", "ic", "fit_seconds")
    row: dict[str, Any] = {key: statistics.mean(r[key] for r in results) for key in keys}
    spread = [r["rank_ic"] for r in results]
    row["rank_ic_std"] = statistics.stdev(spread) if len(spread) > 1 else 0.0
    return {"row": name, "seeds": len(results), **row}


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each one-pass row")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--output", type=Path, default=Path("runs/csi800_benchmark"))
    args, extra = parser.parse_known_args()
    if "QUANTLIT_DATA" not in os.environ:
        parser.error("set QUANTLIT_DATA to the folder with ashare_csi800_daily_2017_2019.parquet")
    args.output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(os.cpu_count() or 1)
    rows = []
    for name in args.rows:
        seeds = range(1 if "windowed" in name else args.seeds)
        rows.append(summarise(name, [run(name, seed, args.output, extra) for seed in seeds]))
    print(f"\n{'row':<22}{'seeds':>6}{'valid':>9}{'rank IC':>17}{'ICIR':>8}{'IC':>8}{'fit s':>8}")
    for row in rows:
        print(
            f"{row['row']:<22}{row['seeds']:>6}{row['valid_rank_ic']:>9.4f}"
            f"{row['rank_ic']:>9.4f} ±{row['rank_ic_std']:.4f}{row['rank_icir']:>8.3f}"
            f"{row['ic']:>8.4f}{row['fit_seconds']:>8.0f}"
        )
    print(f"{'floor (regression)':<37}{FLOOR['rank_ic']:>9.4f}{FLOOR['rank_icir']:>16.3f}")
    first = rows[0]
    keys = ("rank_ic", "rank_icir", "valid_rank_ic", "seeds")
    report({**{key: first[key] for key in keys}, "rows": rows}, args.json)


if __name__ == "__main__":
    main()
