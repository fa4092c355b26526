"""Asks canned questions of a database one after the other, until it is ended: a report in a loop.

python benchmarks/reporting.py DATABASE
"""

from __future__ import annotations

import sys
from itertools import cycle
from pathlib import Path

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.schemas.errors import WarehouseError

catalogue, warehouse = Catalogue(), Warehouse(Path(sys.argv[1]), wait=60)
for name in cycle(["completion", "declines", "validation", "resume"]):
    try:
        with warehouse.read() as database:
            catalogue.run(database, name, {"by": ["server"]})
    except WarehouseError as error:
        if error.reason != "warehouse_missing":
            raise
