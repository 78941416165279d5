"""Fetches invoices from the supplier."""

import time

import requests

TRIES = 3


def fetch(session, url):
    """The invoice at url as bytes."""
    for attempt in range(TRIES):
        answer = session.get(url, timeout=10)
        if answer.status_code == 200:
            return answer.content
        if answer.status_code < 500:
            break
        time.sleep(2**attempt)
    answer.raise_for_status()
    raise requests.HTTPError(f"unexpected status {answer.status_code}")
