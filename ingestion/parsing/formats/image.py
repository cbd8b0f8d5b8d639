"""Images -> text by OCR: PNG, JPEG, WebP, and all pages of TIFF. Pillow decodes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ingestion.domain import Block, BlockKind, Completeness, Unit, Why
from ingestion.errors import DamagedFile, ParseLimitExceeded
from ingestion.files import filetypes
from ingestion.parsing.protocol import Extraction, ScannedPages, Source, StatedMetadata

if TYPE_CHECKING:
    from PIL.Image import Image

# The only decoder that a file of each type is given to.
_FORMATS = {
    filetypes.PNG.media_type: "PNG",
    filetypes.JPEG.media_type: "JPEG",
    filetypes.TIFF.media_type: "TIFF",
    filetypes.WEBP.media_type: "WEBP",
}
IMAGE_TYPES = frozenset(_FORMATS)

# Pixels a side that are given to OCR: an A4 page at 300 dots per inch has 2,480 by 3,508.
_MOST_SIDE = 5_000
# The letters of a screenshot are too small for Tesseract at their own size. A guess.
_SMALL_SIDE = 1_600
_DOTS_PER_INCH = 150
"""liteparse's own resolution, so that a pixel stays a pixel."""

# Numbers of EXIF: folders of tags, and a tag in one.
_PHOTO_FOLDER, _DATE_TAKEN, _PLACE_FOLDER = 0x8769, 0x9003, 0x8825
HOLDS_EXIF = (
    "The image states when or where it was taken (EXIF). Neither is indexed or shown, but the "
    "original is stored unchanged: who may download it can read them there."
)


class ImageParser:
    """The text in an image, page by page. A first run without OCR lists the pages."""

    name = "tesseract"

    def extract(self, source: Source) -> Extraction:
        from ingestion.parsing.formats.pdf import recognised

        with _opened(source) as image:
            count = _pages(image, source)
            exif = image.getexif()
            has_facts = exif.get_ifd(_PLACE_FOLDER) or _DATE_TAKEN in exif.get_ifd(_PHOTO_FOLDER)
            if requested := source.ocr.wanted:
                _save_for_ocr(image, source, requested)
        if not requested:
            raise ScannedPages(_no_text(source), list(range(1, count + 1)))
        numbers = dict(enumerate(requested, start=1))
        completeness = Completeness(Unit.PAGE, count, pictures=count)
        pages = recognised(source.scratch / _FOR_OCR, source.ocr.wanting(list(numbers)))
        blocks = [
            Block(block.kind, block.text, block.level, numbers[block.page or 1])
            for page in pages
            for block in (placed.block for placed in page.blocks)
            if block.kind is not BlockKind.TABLE
        ]
        if not blocks:
            raise ScannedPages(_no_text(source), [])
        pages_read = {block.page for block in blocks}
        completeness.recognised = len(pages_read)
        wordless = [number for number in requested if number not in pages_read]
        completeness.add(Unit.PAGE, Why.WORDLESS, wordless)
        beyond = [number for number in range(1, count + 1) if number not in requested]
        completeness.add(Unit.PAGE, Why.OCR_LIMIT, beyond)
        warnings = [HOLDS_EXIF] if has_facts else []
        metadata = StatedMetadata(page_count=count)
        return Extraction(iter(blocks), metadata, warnings, completeness=completeness)


def _no_text(source: Source) -> str:
    label = source.file_type.label
    if not source.ocr.languages:
        return f"The text of this {label} cannot be read; {source.ocr.lacking}."
    return (
        f"OCR found no text in this {label}, so that nothing of it can be searched. If there is "
        "text, upload a sharper or larger picture, upright, or check OCR_LANGUAGES. Otherwise, "
        "describe it in a document beside it."
    )


def opened_frame(source: Source, page: int, size: tuple[int, int]) -> Image:
    """Page `page` (from 1), upright, on white, decoded at about `size` at least.

    Raises DamagedFile, ParseLimitExceeded.
    """
    with _opened(source) as image:
        if page > _pages(image, source):
            raise DamagedFile("There is no such page.")
        # Only JPEG can be decoded smaller than it is.
        image.draft(None, size)
        return _frame(image, source, page)


# The errors of Pillow's decoders for damaged files.
_UNREADABLE = (OSError, SyntaxError, ValueError, EOFError, KeyError, TypeError, OverflowError)


@contextmanager
def _opened(source: Source) -> Iterator[Image]:
    """Open the image with the decoder of its type. All errors of Pillow become DamagedFile."""
    import PIL.Image

    # `_check_size` refuses large images before they are decoded; the warning would say the same.
    PIL.Image.MAX_IMAGE_PIXELS = None
    try:
        with PIL.Image.open(source.path, formats=[_FORMATS[source.file_type.media_type]]) as image:
            _check_size(image, source)
            yield image
    except _UNREADABLE as error:
        raise DamagedFile(
            f"This {source.file_type.label} is damaged and cannot be opened. Open it in an image "
            "editor, save it again and upload that."
        ) from error


def _check_size(image: Image, source: Source) -> None:
    most = source.limits.image_pixels
    if image.width * image.height > most:
        raise ParseLimitExceeded(
            f"This {source.file_type.label} has {image.width:,} by {image.height:,} pixels; at "
            f"most {most // 1_000_000:,} million are read. Reduce it and upload it again."
        )


def _pages(image: Image, source: Source) -> int:
    """The pages of a TIFF; one page for other images (the first picture of an animation)."""
    if image.format != "TIFF":
        return 1
    count = int(getattr(image, "n_frames", 1))
    if count > source.limits.pages:
        raise ParseLimitExceeded(
            f"This TIFF image has {count:,} pages; at most {source.limits.pages:,} are read. "
            "Split it into several files."
        )
    return count


def _frame(image: Image, source: Source, page: int) -> Image:
    """One page as a picture in grey or in colour, upright as the camera says, on white."""
    import PIL.Image
    from PIL import ImageOps

    if image.format == "TIFF":
        image.seek(page - 1)
        _check_size(image, source)
    image.load()
    upright = ImageOps.exif_transpose(image)
    if upright.mode in ("I", "F") or upright.mode.startswith("I;16"):
        # Sixteen bits and more: the darkest becomes black, the lightest white.
        upright = upright.convert("F")
        low, high = upright.getextrema()
        factor = 255 / ((high - low) or 1)  # type: ignore[operator]
        return upright.point(lambda value: value * factor - low * factor).convert("L")  # type: ignore[operator]
    if upright.has_transparency_data:
        opaque = upright.convert("RGBA")
        white = PIL.Image.new("RGBA", opaque.size, "white")
        return PIL.Image.alpha_composite(white, opaque).convert("RGB")
    return upright if upright.mode in ("L", "RGB") else upright.convert("RGB")


_FOR_OCR = "pages.pdf"


def _save_for_ocr(image: Image, source: Source, numbers: tuple[int, ...]) -> None:
    """Write the requested pages as a PDF of pictures, the input of OCR."""
    import PIL.Image

    target = source.scratch / _FOR_OCR
    for number in numbers:
        page = _frame(image, source, number).convert("L")
        if max(page.size) < _SMALL_SIDE:
            page = page.resize((page.width * 2, page.height * 2), PIL.Image.Resampling.LANCZOS)
        page.thumbnail((_MOST_SIDE, _MOST_SIDE))
        page.save(target, "PDF", resolution=_DOTS_PER_INCH, append=target.exists())


PARSER = ImageParser()
