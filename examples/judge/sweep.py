"""sweep.py FOLDER [LOGGER...]: trains a small network with three optimizers at three rates and five seeds, and logs every run
with CSV, TensorBoard, W&B (offline) and MLflow, into FOLDER/LOGGER. Needs torch, and each logger's package.

Seeds share their data and initial weights over optimizers, so that runs pair."""
import csv
import os
import pathlib
import sys

import torch

STEPS, EVERY = 600, 200
OPTIMIZERS = {  # and the rates that each is tried at
    "sgd": (lambda parameters, lr: torch.optim.SGD(parameters, lr=lr, momentum=0.9), (0.03, 0.1, 0.3)),
    "adamw": (lambda parameters, lr: torch.optim.AdamW(parameters, lr=lr), (0.004, 0.012, 0.04)),
    "rmsprop": (lambda parameters, lr: torch.optim.RMSprop(parameters, lr=lr), (0.004, 0.012, 0.04)),
}


def losses(optimizer, lr, seed):
    """Yields step, validation loss and test loss of a two-layer network that fits the sine of a sum of eight numbers."""
    torch.manual_seed(seed)
    data = [(x, torch.sin(x.sum(1, keepdim=True)) + 0.05 * torch.randn(len(x), 1))
            for x in (torch.randn(size, 8) / 2 for size in (2048, 1024, 1024))]
    model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))
    step_of = OPTIMIZERS[optimizer][0](model.parameters(), lr)
    (x, y), *held_out = data
    for step in range(1, STEPS + 1):
        rows = torch.randint(len(x), (64,))
        step_of.zero_grad()
        torch.nn.functional.mse_loss(model(x[rows]), y[rows]).backward()
        step_of.step()
        if step % EVERY == 0:
            with torch.no_grad():
                yield (step, *(torch.nn.functional.mse_loss(model(a), b).item() for a, b in held_out))


def log_csv(folder, runs):
    with open(folder / "runs.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["optimizer", "lr", "seed", "step", "val_loss", "test_loss"])
        for settings, points in runs:
            for step, validation, test in points:
                writer.writerow([*settings.values(), step, repr(validation), repr(test)])


def log_tensorboard(folder, runs):
    from torch.utils.tensorboard import SummaryWriter
    for settings, points in runs:
        writer = SummaryWriter(folder / ",".join(f"{key}={value}" for key, value in settings.items()))
        for step, validation, test in points:
            writer.add_scalar("val_loss", validation, step, new_style=True, double_precision=True)
            writer.add_scalar("test_loss", test, step, new_style=True, double_precision=True)
        writer.close()


def log_wandb(folder, runs):
    import wandb
    for settings, points in runs:
        run = wandb.init(project="sweep", mode="offline", dir=folder, config=settings, reinit=True)
        for step, validation, test in points:
            run.log({"val_loss": validation, "test_loss": test}, step=step)
        run.finish()


def log_mlflow(folder, runs):
    import mlflow
    mlflow.set_tracking_uri(f"sqlite:///{(folder / 'mlflow.db').resolve()}")
    for settings, points in runs:
        with mlflow.start_run():
            mlflow.log_params(settings)
            for step, validation, test in points:
                mlflow.log_metrics({"val_loss": validation, "test_loss": test}, step=step)


LOGGERS = {"csv": log_csv, "tensorboard": log_tensorboard, "wandb": log_wandb, "mlflow": log_mlflow}

if __name__ == "__main__":
    os.environ.setdefault("WANDB_SILENT", "true")
    torch.set_num_threads(1)
    swept = [{"optimizer": name, "lr": lr, "seed": seed}
             for name, (_, rates) in OPTIMIZERS.items() for lr in rates for seed in range(5)]
    trained = [(settings, list(losses(**settings))) for settings in swept]
    for name in sys.argv[2:] or LOGGERS:
        folder = pathlib.Path(sys.argv[1], name)
        folder.mkdir(parents=True, exist_ok=True)
        LOGGERS[name](folder, trained)
