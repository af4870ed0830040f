"""Read the transcripts of many agents as one kind of message: `read`, `find`, and the FORMATS there are."""

from dream.transcripts.files import find, names
from dream.transcripts.formats import FORMATS, read
from dream.transcripts.newest import newest
from dream.transcripts.places import Place
from dream.transcripts.reader import Reader

__all__ = ["FORMATS", "Place", "Reader", "find", "names", "newest", "read"]
