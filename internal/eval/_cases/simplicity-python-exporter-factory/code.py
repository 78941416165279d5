"""Exports of the monthly report."""

import abc
import csv
import io


class Exporter(abc.ABC):
    """Something that can export a report."""

    @abc.abstractmethod
    def export(self, report):
        """Returns the report as text."""


class CsvExporter(Exporter):
    """Exports as CSV."""

    def export(self, report):
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(["month", "customer", "hours"])
        for row in report.rows:
            writer.writerow([row.month, row.customer, row.hours])
        return out.getvalue()


class ExporterFactory:
    """Makes exporters by name."""

    _registry = {"csv": CsvExporter}

    @classmethod
    def create(cls, name):
        """The exporter with that name."""
        if name not in cls._registry:
            raise ValueError(f"unknown exporter {name}")
        return cls._registry[name]()


def export_month(report):
    """The month's report as CSV."""
    return ExporterFactory.create("csv").export(report)
