from __future__ import annotations

import pytest

from ringmaster.storage.memory_store import MemoryStore
from ringmaster.storage.store import Store
from tests.contracts.store_contract import StoreContract, now


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore(now=now)
