"""Words that people use in names of medical images, and what they mean. No name of a dataset is among them."""

from __future__ import annotations


def words_of(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


MASK = words_of("""
    seg segs segmentation segmentations segm mask masks msk label labels gt groundtruth groundtruths ground truth annotation
    annotations annotated annot anno annos manual gtv oar roi rois contour contours dseg outline outlines delineation labelled
    segmented aseg aparc wmparc
    """)
"""A file or folder so called may hold label maps."""

IMAGE = words_of("image images img imgs imaging scan scans volume volumes vol photo photos picture pictures raw ct mr mri")

SPLITS = words_of("train training test testing val valid validation dev eval tr ts te va")
"""Parts of an official split; the short ones also stand at the end of a word, as in `imagesTr`."""

PERSON = words_of("subject subj sub patient pat person case")
"""A number behind such a word names a person."""

OCCASION = words_of("""
    ses session visit scan time timepoint frame slice z page phase series study echo run rec view day week month angle row col
    tile patch crop frames slices part cut im image img
    """)
"""A number behind such a word names one of several images of somebody."""

DERIVED = words_of("derivatives derivative")
"""In a folder so called lies what was made of the images beside it, as BIDS has it."""

AGREED = words_of("consensus agreed final adjudicated merged majority combined")
"""What several readers came to, where each of them has a file of his own."""

READERS = words_of("""
    expert experts rater raters reader readers annotator annotators observer observers grader graders radiologist doctor dr
    physician clinician specialist pathologist reviewer operator
    """)
"""Whoever drew a label map: several of them drew the same thing."""

PROCESSED = words_of("edge edges canny sobel gradient skeleton threshold thresholded otsu dithered halftone")
"""What a program makes of an image without knowing what is in it; it may be black and white, and marks nothing."""

PREDICTIONS = words_of("""
    pred preds predicted prediction predictions output outputs result results auto automatic automated inferred inference ai
    """)
"""What a program drew, where a person drew something too."""

SHARES = words_of("fold folds part parts batch shard chunk subset group set archive images imgs zip folder dir")
"""A number behind such a word, in a folder, says which share of the files lies there."""

TIMES = words_of("pre post before after baseline followup early late first second")
"""When something was taken: several images of somebody rather than classes."""

CONDITIONS = words_of("""
    neg pos negative positive control controls ctrl healthy normal abnormal sham treated untreated benign malignant tumor tumour
    diseased disease infected infection uninfected lesion cancer carcinoma covid pneumonia stained unstained wildtype mutant
    """)
"""What was done to somebody, or what he has: a class rather than one of several images of him."""

SEQUENCES = words_of("""
    t1 t2 t1w t2w t1c t1ce t1gd t1n t2f flair adc dwi swi pd pdw bold dti ct cta ctp ncct pet suv mr mri mra tof cect cet1
    hrt2 cet b0 dce uni inv1 inv2 he ihc zmap anat func fmap perf
    """)
"""Kinds of acquisition: series of one subject rather than classes of images."""

BODY_PARTS = words_of("""
    head brain skull eye neck thyroid chest thorax lung lungs breast heart cardiac abdomen abdominal liver kidney kidneys spleen
    pancreas pelvis prostate bladder uterus spine shoulder elbow wrist hand hip thigh knee ankle foot renal
    """)
"""What an image shows; images of two of them are no series of one scan."""

CIRCUMSTANCES: dict[str, frozenset[str]] = {
    "a place": words_of("site sites center centre hospital clinic institution institute university campus city country"),
    "a device": words_of("""
        scanner vendor manufacturer device camera machine microscope siemens philips ge toshiba canon hitachi fujifilm samsung
        mindray heidelberg spectralis topcon zeiss cirrus nidek optovue iphone android smartphone phone dslr nikon olympus leica
        aperio hamamatsu ventana medical healthcare systems
        """),
    "a reader": READERS,
    "a side": words_of("left right od os upper lower"),
    "a view": words_of("axial coronal sagittal ap pa lateral frontal cc mlo"),
    "who it is": words_of("male female man woman men women boy girl boys girls adult adults child children pediatric paediatric"),
    "a version": words_of("""
        original raw processed preprocessed augmented cropped full resized enhanced clean noisy denoised filtered
        """),
    "a colour": words_of("rgb nir grey gray bw"),
    "a use": words_of("public private source target labeled unlabeled labelled unlabelled"),
    "a share of the files": words_of("batch fold folds part parts shard chunk arm cohort wave"),
}
"""What a folder so called says of how its images were taken -> words for it: no class unless a person says so."""

PLACES = frozenset(("a place", "a device"))
"""Circumstances of which each has people of its own."""

MODALITIES: tuple[tuple[str, str], ...] = (
    ("mammogra", "Mammography"),
    ("fundus", "Fundus"),
    ("retina", "Fundus"),
    ("ultraso", "Ultrasound"),
    ("echocardi", "Ultrasound"),
    ("bmode", "Ultrasound"),
    ("histolog", "Microscopy"),
    ("histopath", "Microscopy"),
    ("microsc", "Microscopy"),
    ("organoid", "Microscopy"),
    ("endoscop", "Endoscopy"),
    ("colonosc", "Endoscopy"),
    ("dermo", "Dermoscopy"),
    ("x-ray", "X-ray"),
    ("xray", "X-ray"),
    ("radiograph", "X-ray"),
    ("ceph", "X-ray"),
)
"""What stands in a name -> modality."""

WORD_MODALITIES = {
    **dict.fromkeys(("ct", "cta", "ctp", "ncct", "cect", "cbct"), "CT"),
    **dict.fromkeys(
        ("mr", "mri", "mra", "t1", "t1w", "t2", "t2w", "t1c", "t1ce", "t1n", "t2f", "flair", "adc", "dwi", "bold"), "MR"
    ),
    **dict.fromkeys(("tof", "pdw", "dti", "cet", "hrt", "cmr"), "MR"),
    **dict.fromkeys(("pet", "suv"), "PET"),
    **dict.fromkeys(("us", "microus"), "Ultrasound"),
    "oct": "OCT",
}
"""A whole word of a name -> modality."""
