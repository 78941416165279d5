"""Uploads of themes: a tar archive per shop."""

import logging
import os
import shutil
import tarfile
import tempfile

log = logging.getLogger(__name__)

MAX_ARCHIVE = 20 * 1024 * 1024
MAX_MEMBERS = 2000


class BadTheme(Exception):
    """The archive is no theme; its text is shown to the shop."""


def install(shop_dir, stream):
    """Unpacks an uploaded archive and makes it the shop's theme."""
    work = tempfile.mkdtemp(prefix="theme-", dir=shop_dir)
    try:
        archive = os.path.join(work, "upload.tar")
        with open(archive, "wb") as out:
            copied = 0
            while chunk := stream.read(64 * 1024):
                copied += len(chunk)
                if copied > MAX_ARCHIVE:
                    raise BadTheme("the archive is too large")
                out.write(chunk)
        target = os.path.join(work, "theme")
        os.mkdir(target)
        with tarfile.open(archive) as tar:
            members = tar.getmembers()
            if len(members) > MAX_MEMBERS:
                raise BadTheme("the archive has too many files")
            for member in members:
                destination = os.path.join(target, member.name)
                if member.isdir():
                    os.makedirs(destination, exist_ok=True)
                elif member.isfile():
                    os.makedirs(os.path.dirname(destination), exist_ok=True)
                    with tar.extractfile(member) as src, open(destination, "wb") as dst:
                        shutil.copyfileobj(src, dst)
        replace(os.path.join(shop_dir, "theme"), target)
        log.info("installed a theme of %d files", len(members))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def replace(current, new):
    """Puts new in the place of current."""
    shutil.rmtree(current, ignore_errors=True)
    os.rename(new, current)
