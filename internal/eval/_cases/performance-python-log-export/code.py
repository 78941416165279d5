"""Exports logs as compressed lines of JSON."""

import gzip
import json

BATCH = 5000


def rows(cursor, day):
    """Yields the rows of a day; the server sends them in batches."""
    cursor.itersize = BATCH
    cursor.execute(
        "SELECT at, level, message, fields FROM logs WHERE at >= %s AND at < %s + INTERVAL '1 day' ORDER BY at",
        (day, day),
    )
    yield from cursor


def line(row):
    """A row as one line of JSON."""
    at, level, message, fields = row
    return json.dumps(
        {"at": at.isoformat(), "level": level, "message": message, "fields": fields},
        separators=(",", ":"),
    )


def export(connection, day, path):
    """Writes the logs of a day to path and returns how many they were."""
    count = 0
    with connection.cursor(name="export") as cursor, gzip.open(path, "wt", compresslevel=3) as out:
        for row in rows(cursor, day):
            out.write(line(row))
            out.write("\n")
            count += 1
    return count
