"""Opens an image file of any known format: the one door to the readers.

A format is one module and one `Reader` entry in `READERS`; the first whose `sniff` knows the first bytes opens the
file. Names only serve to find the other files of an image and to warn when they contradict the content.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from resources.findings import Code, Finding, finding
from resources.readers import bitmap, declared, envi, itk, magic, matlab, metaimage, mgh, nifti, npy, nrrd, parrec
from resources.readers.arrays import ArrayInfo
from resources.readers.dicom import door as dicom
from resources.readers.image import RawImage
from resources.readers.isolated import isolated
from resources.readers.plane import checked
from resources.readers.source import RawFile, ReadOptions, examine, renamed
from resources.readers.tiff_structure import TaggedPage


@dataclass(frozen=True, slots=True)
class Reader:
    """One family of formats.

    Attributes:
        name: What messages call it.
        suffixes: File name endings of its plain files, lower case; with `.gz` behind them for gzip.
        sniff: Whether a file with these first (inflated) bytes is one of its files.
        open: Reads the header of such a file.
        companions: Files in the same folder that belong to the file of this path.
        header: The file to open for the image that a path belongs to, where that can be another file.
        arrays: Lists the arrays of a container; `None` for formats that are none.
        texts: Names the texts of a container that `arrays` leaves out; `None` where it leaves none out.
        knows_axes: Whether `open` heeds the axes that a spec declares; for other readers they are applied behind it.
    """

    name: str
    suffixes: frozenset[str]
    sniff: Callable[[bytes], bool]
    open: Callable[[RawFile, ReadOptions], RawImage]
    companions: Callable[[Path], tuple[Path, ...]] = lambda _: ()
    header: Callable[[Path], Path] = lambda path: path
    arrays: Callable[[RawFile], tuple[ArrayInfo, ...]] | None = None
    texts: Callable[[RawFile], tuple[str, ...]] | None = None
    knows_axes: bool = False


READERS: tuple[Reader, ...] = (
    Reader("NIfTI", nifti.SUFFIXES, nifti.sniff, nifti.open_nifti, nifti.companions, nifti.header_path),
    Reader("NRRD", nrrd.SUFFIXES, nrrd.sniff, itk.open_nrrd, nrrd.companions),
    Reader("MetaImage", metaimage.SUFFIXES, metaimage.sniff, itk.open_meta, metaimage.companions),
    Reader("GIPL", itk.GIPL_SUFFIXES, itk.sniff_gipl, itk.open_gipl),
    Reader("DICOM", dicom.SUFFIXES, dicom.sniff, dicom.open_dicom),
    Reader(
        "HDF5",
        magic.HDF5_SUFFIXES,
        magic.is_hdf5,
        isolated("hdf5", "open_hdf5"),
        arrays=isolated("hdf5", "list_hdf5"),
        knows_axes=True,
    ),
    Reader(
        "MATLAB",
        magic.MAT_SUFFIXES,
        magic.is_mat,
        matlab.open_mat,
        arrays=matlab.list_mat,
        texts=matlab.list_mat_texts,
        knows_axes=True,
    ),
    Reader("NPY", magic.NPY_SUFFIXES, magic.is_npy, npy.open_npy, arrays=npy.list_npy, knows_axes=True),
    Reader("NPZ", magic.NPZ_SUFFIXES, magic.is_npz, npy.open_npz, arrays=npy.list_npz, knows_axes=True),
    Reader("TIFF", magic.TIFF_SUFFIXES, magic.is_tiff, isolated("tiff", "open_tiff"), knows_axes=True),
    Reader("CZI", magic.CZI_SUFFIXES, magic.is_czi, isolated("czi", "open_czi"), knows_axes=True),
    Reader("video", magic.VIDEO_SUFFIXES, magic.is_video, isolated("video", "open_video"), knows_axes=True),
    Reader("MINC 1", magic.MINC1_SUFFIXES, magic.is_netcdf, isolated("minc", "open_minc1")),
    Reader("PAR/REC", magic.PAR_SUFFIXES, magic.is_par, parrec.open_parrec, parrec.companions, parrec.header_path),
    Reader("ENVI", magic.ENVI_SUFFIXES, magic.is_envi, envi.open_envi, envi.companions, envi.header_path, knows_axes=True),
    Reader(
        "Parquet",
        magic.PARQUET_SUFFIXES,
        magic.is_parquet,
        isolated("parquet", "open_parquet"),
        arrays=isolated("parquet", "list_parquet"),
        knows_axes=True,
    ),
    Reader("PNG", magic.PNG_SUFFIXES, magic.is_png, bitmap.open_bitmap, knows_axes=True),
    Reader("JPEG", magic.JPEG_SUFFIXES, magic.is_jpeg, bitmap.open_bitmap, knows_axes=True),
    Reader("GIF", magic.GIF_SUFFIXES, magic.is_gif, bitmap.open_bitmap, knows_axes=True),
    Reader("BMP", magic.BMP_SUFFIXES, magic.is_bmp, bitmap.open_bitmap, knows_axes=True),
    Reader("PNM", magic.PNM_SUFFIXES, magic.is_pnm, bitmap.open_bitmap, knows_axes=True),
    # Last, for its magic is the weakest.
    Reader("MGH", magic.MGH_SUFFIXES, magic.is_mgh, mgh.open_mgh),
)

PLAIN = ReadOptions()


def open_image(path: Path, *, name: str | None = None, options: ReadOptions = PLAIN) -> RawImage:
    """Open an image by its content and read its header.

    Args:
        path: The file; either file of a two-file NIfTI or Analyze image.
        name: How findings and errors call it: its path under the raw root with forward slashes. The bare file name
            when not given.
        options: What the dataset's spec says about the reading of its files.

    Raises:
        BadInputError: The file cannot be used; its finding says why.
        ValueError: The options mean nothing, whatever the file.
    """
    declared.check(options)
    asked, path = path, _header_path(path)
    file = examine(path, renamed(name or "", path) if path != asked else name or path.name)
    reader = _reader_of(file)
    if reader.knows_axes or options.axes is None:
        image = reader.open(file, options)
    else:
        image = declared.with_axes(reader.open(file, declared.for_reader(options)), file, options.axes)
    image = declared.placed(checked(image, file.name), file, options)
    return replace(image, findings=(*image.findings, *_name_findings(file, reader)))


def list_arrays(path: Path, *, name: str | None = None) -> tuple[ArrayInfo, ...]:
    """The arrays in a container (HDF5, NPZ, MAT, Parquet) without their elements; none for a file of another format.

    Raises:
        BadInputError: The file cannot be used.
    """
    file = examine(path, name or path.name)
    arrays = _reader_of(file).arrays
    return arrays(file) if arrays else ()


def list_names(path: Path, *, name: str | None = None) -> tuple[str, ...]:
    """Names of all that a container holds, arrays and texts; none for a file of another format.

    Raises:
        BadInputError: The file cannot be used.
    """
    file = examine(path, name or path.name)
    reader = _reader_of(file)
    arrays = reader.arrays(file) if reader.arrays else ()
    return (*(array.name for array in arrays), *(reader.texts(file) if reader.texts else ()))


def tagged_pages(path: Path, tag: int, *, name: str | None = None) -> tuple[TaggedPage, ...]:
    """The pages of a TIFF file that have a tag of this number; their keys open the series they are in.

    Raises:
        BadInputError: The file cannot be used, or is no TIFF file.
    """
    file = examine(path, name or path.name)
    reader = _reader_of(file)
    if reader.name != "TIFF":
        raise file.bad(Code.WRONG_MAGIC, f"only TIFF files have pages with tags; this is one of {reader.name}")
    found: tuple[TaggedPage, ...] = isolated("tiff", "tagged_pages")(file, tag)
    return found


def picture_rows(path: Path, column: str, *, name: str | None = None) -> tuple[tuple[str, int], ...]:
    """The name and the number of bytes of the picture in every row of a column of a Parquet table.

    Raises:
        BadInputError: The file cannot be used, is no Parquet table, or does not have the column.
    """
    file = examine(path, name or path.name)
    reader = _reader_of(file)
    if reader.name != "Parquet":
        raise file.bad(Code.WRONG_MAGIC, f"only Parquet tables have rows with pictures; this is one of {reader.name}")
    found: tuple[tuple[str, int], ...] = isolated("parquet", "list_rows")(file, column)
    return found


def companions(path: Path) -> tuple[Path, ...]:
    """Files in the same folder that belong to one image with the file at `path`; none for an image in one file.

    They are told by its name and, where the format names them, its header.
    """
    ending = _bare_suffix(path.name)
    found = (reader.companions(path) for reader in READERS if not ending or ending in reader.suffixes)
    return next((paths for paths in found if paths), ())


def _header_path(path: Path) -> Path:
    """The file with the header of the image that a path belongs to: the `.hdr` of an `.img`, the PAR of a REC."""
    ending = _bare_suffix(path.name)
    found = (reader.header(path) for reader in READERS if not ending or ending in reader.suffixes)
    return next((header for header in found if header != path), path)


def _reader_of(file: RawFile) -> Reader:
    for reader in READERS:
        if reader.sniff(file.head):
            return reader
    names = ", ".join(reader.name for reader in READERS)
    packed = "inflates to" if file.compressed else "begins with"
    raise file.bad(Code.WRONG_MAGIC, f"not a known image format ({names}): the file {packed} {file.head[:8]!r}")


def _name_findings(file: RawFile, reader: Reader) -> tuple[Finding, ...]:
    claims_gzip = file.path.name.lower().endswith((".gz", ".mgz"))
    if _says(file.path.name, reader) and claims_gzip == file.compressed:
        return ()
    content = f"{reader.name} in gzip" if file.compressed else f"plain {reader.name}"
    return (
        finding(
            Code.WRONG_EXTENSION,
            f"the content is {content}, which the name does not say; taken as it is",
            file=file.name,
        ),
    )


def _says(name: str, reader: Reader) -> bool:
    """Whether a name is one of the reader's; where files need no ending, dots may be part of a name, as in a UID."""
    ending = _bare_suffix(name)
    return ending in reader.suffixes or ("" in reader.suffixes and not any(ending in other.suffixes for other in READERS))


def _bare_suffix(name: str) -> str:
    return Path(name.lower().removesuffix(".gz")).suffix
