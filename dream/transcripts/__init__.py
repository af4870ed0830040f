"""Read the transcripts of many agents as one kind of message: `read`, `names`, and the FORMATS there are."""

from dream.transcripts.formats import FORMATS, names, newest, read
from dream.transcripts.source import Place, Reader

__all__ = ["FORMATS", "Place", "Reader", "names", "newest", "read"]
