"""Imports contacts from CSV files."""

import csv

from imports.models import Contact


def normalise(address):
    """An address as it is compared: without blanks, in lower case."""
    return address.strip().lower()


def read(lines):
    """Yields (name, address) of each usable line."""
    for row in csv.reader(lines):
        if len(row) >= 2 and "@" in row[1]:
            yield row[0].strip(), normalise(row[1])


def import_contacts(owner, lines):
    """Stores what is new and returns how many that were."""
    known = list(Contact.objects.filter(owner=owner).values_list("address", flat=True))
    fresh = []
    for name, address in read(lines):
        if address in known:
            continue
        known.append(address)
        fresh.append(Contact(owner=owner, name=name, address=address))
    Contact.objects.bulk_create(fresh, batch_size=1000)
    return len(fresh)
