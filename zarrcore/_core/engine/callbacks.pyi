from typing import Any, Self, final

@final
class Callback:
    def __new__(cls, coder: Any) -> Self: ...
