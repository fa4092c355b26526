"""Sandbox: one SELECT of a user's own, which can read this database and do nothing else.

The connection is read-only, file access and extensions are off, and the configuration is locked
before the text is run, so that no statement can open what is closed. Time and memory are
limited. DuckDB parses the text; that it is exactly one SELECT is what DuckDB says of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Timer

import duckdb

from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.schemas.errors import ReportError, UsageError

HEAD = {"profile": "operator", "suppressed": "nothing: a query of one's own is never suppressed"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a query may take: seconds, megabytes of memory, rows of its answer."""

    seconds: float = 60.0
    megabytes: int = 1024
    rows: int = 100_000


def ask(connection: duckdb.DuckDBPyConnection, sql: str, limits: Limits) -> Result:
    """The answer to ``sql``, which must be one SELECT. Afterwards ``connection`` stays locked.

    Raises :class:`UsageError` (``query_not_one_select``, ``query_refused``) and
    :class:`ReportError` (``query_timeout``, ``query_memory``, ``query_rows``). What DuckDB says of
    a query it refuses is the user's to read: it repeats the query, and knows no value of a row.
    """
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _refused(error) from None
    if len(statements) != 1 or statements[0].type is not duckdb.StatementType.SELECT:
        raise UsageError("query_not_one_select", "a query is one SELECT statement, and no other")
    _lock(connection, limits)
    timer = Timer(limits.seconds, connection.interrupt)
    timer.start()
    try:
        answer = connection.execute(statements[0])
        columns = [(column[0], str(column[1])) for column in answer.description]
        rows = answer.fetchmany(limits.rows + 1)
    except duckdb.InterruptException:
        raise ReportError(
            "query_timeout", f"the query took over {limits.seconds:g} s; narrow it, or --timeout"
        ) from None
    except duckdb.OutOfMemoryException:
        raise ReportError(
            "query_memory",
            f"the query needs over {limits.megabytes} MB; narrow it, or give more with --memory",
        ) from None
    except (duckdb.ConversionException, duckdb.InvalidInputException):
        # A cast that fails repeats the value it failed on.
        raise UsageError(
            "query_refused", "a value cannot be converted as the query asks; try TRY_CAST"
        ) from None
    except duckdb.Error as error:
        raise _refused(error) from None
    finally:
        timer.cancel()
    if len(rows) > limits.rows:
        raise ReportError(
            "query_rows", f"over {limits.rows} rows; add a LIMIT, or allow more with --rows"
        )
    names, types = zip(*columns, strict=True)
    return Result(names, types, tuple(map(tuple, rows)), head=HEAD)


def _lock(connection: duckdb.DuckDBPyConnection, limits: Limits) -> None:
    for setting, value in {
        "memory_limit": f"'{limits.megabytes}MB'",
        "temp_directory": "''",  # nothing is spilled to a file either
        "enable_external_access": "false",
        "lock_configuration": "true",
    }.items():
        connection.execute(f"SET {setting} = {value}")


def _refused(error: duckdb.Error) -> UsageError:
    if isinstance(error, (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)):
        return UsageError("query_refused", str(error).partition("\n")[0])
    return UsageError("query_refused", f"DuckDB refused the query ({type(error).__name__})")
