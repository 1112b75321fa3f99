"""What bytes look like from their beginning: which containers are read, and what is no audio at all."""

import struct

ACCEPTED = "WAV, FLAC, MP3, M4A/MP4, OGG/Opus, WebM, AIFF, AMR and AAC"
"""The common containers, for error messages."""

FFMPEG_DEMUXERS = (
    "aa,aac,ac3,aiff,amr,ape,asf,ast,au,avi,caf,dsf,dts,eac3,flac,flv,gsm,loas,matroska,mov,mp3,mpc,mpc8,mpeg,mpegts,"
    "mxf,nistsphere,ogg,oma,rm,shn,sln,sox,tak,truehd,tta,voc,w64,wav,wv,xwma"
)
"""FFmpeg demuxers that may be used. Playlists, concat scripts and the like are missing: they open files and URLs."""

_CONTAINERS = {
    b"RIFF": "a RIFF (WAV) file",
    b"RIFX": "a RIFF (WAV) file",
    b"RF64": "a WAV file",
    b"FORM": "an AIFF file",
    b"fLaC": "a FLAC file",
    b"OggS": "an OGG file",
    b"ID3": "an MP3 file",
    b"\x1aE\xdf\xa3": "a WebM or Matroska file",
    b"#!AMR": "an AMR file",
    b".snd": "an AU file",
    b"caff": "a CAF file",
    b"0&\xb2u\x8ef\xcf\x11": "a WMA file",
}

_FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"PK\x05\x06": "a zip archive",
    b"\x1f\x8b\x08": "a gzip file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\x00": "an xz file",
    b"7z\xbc\xaf'\x1c": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"(\xb5/\xfd": "a zstd file",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"II*\x00": "a TIFF image",
    b"MM\x00*": "a TIFF image",
    b"\x7fELF": "a program",
    b"\xca\xfe\xba\xbe": "a program",
    b"\x93NUMPY": "a numpy file",
    b"SQLite format 3": "a database",
    b"\xd0\xcf\x11\xe0": "an Office document",
}

_TEXT_EXAMINED = 1_024
_MOST_CHUNKS = 1_000
_STREAMED_SIZE = 0x7FFF_0000


def container_kind(data: bytes) -> str | None:
    """Name of the audio container that the first bytes announce, such as ``"an OGG file"``; None when they do not."""
    if data[4:8] == b"ftyp":
        return "an MP4 or M4A file"
    return next((kind for magic, kind in _CONTAINERS.items() if data.startswith(magic)), None)


def foreign_kind(data: bytes) -> str | None:
    """Name of what the bytes are when they are certainly no audio, such as ``"a zip archive"``; else None."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "a WebP image"
    if data[:2] == b"BM" and data[2:6] == struct.pack("<I", len(data) & 0xFFFF_FFFF):
        return "a BMP image"
    if data[257:262] == b"ustar":
        return "a tar archive"
    kind = next((kind for magic, kind in _FOREIGN.items() if data.startswith(magic)), None)
    return kind or _text_kind(data)


def is_cut(data: bytes) -> bool:
    """Whether a WAV or AIFF file ends before its sound chunk does.

    A size of 0 or of about 2 GiB and more is what a program writes that does not know the length yet; it promises
    nothing.
    """
    order, wanted = {b"RIFF": ("<", b"data"), b"FORM": (">", b"SSND")}.get(data[:4], ("", b""))
    position = 12
    for _ in range(_MOST_CHUNKS):
        if not order or position + 8 > len(data):
            return False
        name, size = struct.unpack_from(f"{order}4sI", data, position)
        if name == wanted:
            return size < _STREAMED_SIZE and position + 8 + size > len(data)
        position += 8 + size + size % 2
    return False


def mp3_states_length(data: bytes) -> bool:
    """Whether the first frame of an MP3 file says how many frames follow (a Xing, Info or VBRI header)."""
    start = 0
    if data.startswith(b"ID3") and len(data) > 10:
        start = 10 + sum((byte & 0x7F) << shift for byte, shift in zip(data[6:10], (21, 14, 7, 0), strict=True))
    first_frame = data[start : start + 64]
    return any(name in first_frame for name in (b"Xing", b"Info", b"VBRI"))


def _text_kind(data: bytes) -> str | None:
    """What kind of text this is; None for binary data and for NIST SPHERE, whose header is text."""
    if data.startswith(b"NIST_1A"):
        return None
    start = data[:_TEXT_EXAMINED].removeprefix(b"\xef\xbb\xbf")
    try:
        text = start.decode("utf-8", errors="strict")
    except UnicodeDecodeError as error:
        if len(data) <= _TEXT_EXAMINED or error.start < len(start) - 3:
            return None
        text = start[: error.start].decode("utf-8")
    if not text or not all(character.isprintable() or character in "\t\r\n\f" for character in text):
        return None
    return {"<": "HTML or XML", "{": "JSON", "[": "JSON"}.get(text.lstrip()[:1], "text")
