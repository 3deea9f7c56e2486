"""For all tests."""

import signal


def pytest_configure() -> None:
    """Have Ctrl-C work, which tests send, where a shell that runs them in the background has it ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
