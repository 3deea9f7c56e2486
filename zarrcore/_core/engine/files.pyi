from typing_extensions import Buffer

def open_below(
    root: str, path: str, flags: int, follow_symlinks: bool | str, writes: bool = False
) -> int: ...
def write_file(
    path: str,
    data: Buffer,
    sync: bool = False,
    is_new: bool = False,
    root: str | None = None,
    follow_symlinks: bool | str = "inside",
) -> bool: ...
