"""The device of a comparison: all methods that can use it do."""

from banditplex.errors import InputError


def find_device(name: str, engine: str) -> str:
    """Return the device that fits use: a name, or for "auto" CUDA where there is one; refuse one that is not here."""
    from banditplex.training.data import choose_device

    if engine == "ray":  # its tasks ask for a processor, not for a GPU
        if name not in ("auto", "cpu"):
            raise InputError(f"Expected device to be 'cpu' with the engine ray, got {name!r}.")
        return "cpu"
    found = choose_device(name)
    return str(found) if name == "auto" else name


def on_cuda(device: str) -> bool:
    """Return whether a device is a GPU that CUDA runs on."""
    return device.startswith("cuda")


def describe_device(device: str) -> str:
    """Return a device in words: that of CUDA with the name that torch has for it."""
    if not on_cuda(device):
        return device
    import torch

    return f"CUDA: {torch.cuda.get_device_name(device)}"


def start_device(device: str) -> None:
    """Start CUDA, if it is used: this takes seconds and memory that are not those of a method."""
    if on_cuda(device):
        import torch

        if torch.device(device).index is not None:
            torch.cuda.set_device(device)  # the one whose memory is watched
        torch.zeros(1, device=device)
