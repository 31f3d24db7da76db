"""The real data sets: sources, terms of use, checksums and counts.

The first twelve come from the collection of multilayer networks of Manlio De Domenico and the CoMuNe Lab. Checksums are
those of the files, not of the archives. docs/datasets.md has a table of all data sets.
"""

from functools import partial
from typing import Any

from banditplex.datasets.base import Dataset, File
from banditplex.datasets.stored import load_comune, load_gatne, load_split_tables, load_triples

COLLECTION = "https://manliodedomenico.com/data.php"
ARCHIVE = "https://manliodedomenico.com/data/{}.zip"

# Copies of the collection's files, at a fixed commit; {} is the folder of the data set in the collection.
_GITHUB = "https://raw.githubusercontent.com/"
_COMPNET = _GITHUB + "CompNet/MultiplexCentrality/9069d5eee92f64accfb63b87bf2e1ccb962abd37/data/{}/Dataset/"
_MASINAG = (
    _GITHUB + "masinag/influential_spreaders_multilayer_networks/45b07b385ce4de131b4df541b8857dfef61499cb"
    "/data/multiplex/{}/Dataset/"
)
_PY3PLEX = _GITHUB + "SkBlaz/py3plex/6ce9e867469e29f377d881d4f9f64343a63feb1b/testgraph/multiplex_datasets/{}/Dataset/"
_ZJUNYI = (
    _GITHUB + "z-junyi/Modularity-Optimisation-Based-Community-Detection-Techniques-in-Multiplex-Networks"
    "/4a2c5b19fca85af2c3377ab8e5e442c6ffc702ce/data/arxiv/Dataset/"
)
_MNE = _GITHUB + "HKUST-KnowComp/MNE/f64a079ee7d861331f1343709dbe42e77609805c/data/"
_MISHRA = (
    _GITHUB + "shivansh-mishra/linkpredict-multiplex-layer/3ed1cf9245dc77e84fc0d5107fb64ca96f93c586"
    "/multiplex_data/final_format/"
)
_GATNE = _GITHUB + "THUDM/GATNE/e003ea7b3a8e7bd5dc986ca55cf4cb06444c4ea7/data/amazon/"

AS_IS = 'No licence named: "provided as is and without warranties". Cite the original study.'
ODBL = (
    "Open Database License 1.0 (https://opendatacommons.org/licenses/odbl/1.0/), contents under the Database Contents "
    "License 1.0: attribute, share alike, keep notices."
)
AIR = (
    "GNU Free Documentation License 1.3 or later, (C) 2013 Cardillo, Gomez-Gardenes and Zanin. By using this data set "
    "you also agree not to reverse-engineer it to extract airlines, airport names or any other information, and not "
    "to make comparative studies of the performance of air transport actors: publish means over layers only."
)
AMAZON = (
    "Repository under the MIT licence; a sample of Amazon product data (http://jmcauley.ucsd.edu/data/amazon), whose "
    "own terms apply."
)

_MUXVIZ = (
    "M. De Domenico, M. A. Porter, A. Arenas, MuxViz: A Tool for Multilayer Analysis and Visualization of Networks, "
    "Journal of Complex Networks 3, 159-176 (2015)"
)
_REDUCIBILITY = (
    "M. De Domenico, V. Nicosia, A. Arenas, V. Latora, Structural reducibility of multilayer networks, "
    "Nature Communications 6, 6864 (2015)"
)
_BIOGRID = (
    "C. Stark et al., BioGRID: a general repository for interaction datasets, Nucleic Acids Research 34, D535-D539 "
    "(2006)"
)
_LAZEGA = (
    "E. Lazega, The Collegial Phenomenon: The Social Mechanisms of Cooperation Among Peers in a Corporate Law "
    "Partnership, Oxford University Press (2001); T. A. B. Snijders et al., New specifications for exponential random "
    "graph models, Sociological Methodology, 99-153 (2006)"
)


def _comune(
    name: str,
    title: str,
    *,
    folder: str,
    stem: str,
    mirror: str = "",
    edges: str | File,
    layers: str | File | tuple[str, ...],
    nodes: str | File | None = None,
    num_nodes: int,
    num_edges: int,
    num_undirected: int | None = None,
    weighted: bool = False,
    **facts: Any,
) -> Dataset:
    """Declare a data set of the collection.

    `folder` is its folder in the collection, `stem` the prefix of its file names, `mirror` the URL of a folder with
    copies of the files, if any. `edges`, `layers` and `nodes` are sha256 checksums or files; `layers` may also be a
    tuple of layer names. `num_undirected` is given for directed data sets only.
    """
    directed = num_undirected is not None

    def file(ending: str, checksum: Any) -> Any:
        if not isinstance(checksum, str):
            return checksum
        copy = mirror.format(folder) + f"{stem}_{ending}" if mirror else ""
        return File(f"{name}/{stem}_{ending}", f"sha256:{checksum}", copy)

    files = file("multiplex.edges", edges), file("layers.txt", layers), file("nodes.txt", nodes)
    return Dataset(
        name,
        title,
        partial(load_comune, *files, num_nodes=num_nodes, directed=directed),
        num_nodes=num_nodes,
        num_edges=num_edges,
        num_undirected=num_undirected if directed else num_edges,
        directed=directed,
        weighted=weighted,
        address=COLLECTION,
        files=tuple(each for each in files if isinstance(each, File)),
        archive=ARCHIVE.format(folder),
        **facts,
    )


CKM = _comune(
    "ckm",
    "Physicians: advice, discussion, friendship",
    folder="CKM-Physicians-Innovation_Multiplex_Social",
    stem="CKM-Physicians-Innovation",
    mirror=_COMPNET,
    edges="d8b12afaf49aa08d858786077bc4c66bcc8d579120939a6fa1e5263fcad8295f",
    layers="3b9fb71d7eb2f6e51c0eeaa846899eea05b9b51f75533c59b4cb0a77e446ffb1",
    nodes="ab77f623e3ce53c492145f152634e2488557c583b68f7697ef171216aa237f39",
    num_nodes=246,
    num_layers=3,
    num_edges=1551,
    num_undirected=1370,
    terms=AS_IS,
    citation="J. Coleman, E. Katz, H. Menzel, The Diffusion of an Innovation Among Physicians, Sociometry 20, 253-270 "
    "(1957)",
)

VICKERS = _comune(
    "vickers",
    "Seventh graders, three questions about classmates",
    folder="Vickers-Chan-7thGraders_Multiplex_Social",
    stem="Vickers-Chan-7thGraders",
    mirror=_MNE,
    edges="2954ff63f813b47f092b168fa8a36549f96f80377884c6e0b0c5806b578df602",
    layers=("get on with", "best friends", "prefer to work with"),
    num_nodes=29,
    num_layers=3,
    num_edges=740,
    num_undirected=518,
    terms=AS_IS,
    citation="M. Vickers, S. Chan, Representing Classroom Social Structure, Victoria Institute of Secondary Education, "
    "Melbourne (1981)",
    note="Students 1 to 12 are boys, 13 to 29 girls.",
)

LAZEGA = _comune(
    "lazega",
    "Lawyers of one firm (the faulty release, as in the paper)",
    folder="Lazega-Law-Firm_Multiplex_Social",
    stem="Lazega-Law-Firm",
    mirror=_COMPNET,
    edges="5a5cf04a017a57e32e346990043a6ae7d0852c1d1dcfd1f374c988fe7370c503",
    layers="d73ef1589c0cbac71bbd0af6d0789bf67258a7ce40c8be3e6cb8b4277fdfa16e",
    nodes="66c1599ccbaca159bb041d3df8a8f5c4cf1df23128ddbc29f96a2c8c1b92ec50",
    num_nodes=71,
    num_layers=3,
    num_edges=2223,
    num_undirected=1659,
    terms=AS_IS,
    citation=_LAZEGA,
    note="Use it to match the paper's counts (2,223 edges), and 'lazega-corrected' for anything about real layers. "
    "Advice and friendship are mixed up in this release (rows shifted by 18 nodes, which also makes 4 self loops), and "
    "co-work has only mutual ties. The collection now serves the corrected release.",
)

LAZEGA_CORRECTED = _comune(
    "lazega-corrected",
    "Lawyers of one firm (the corrected release)",
    folder="Lazega-Law-Firm_Multiplex_Social",
    stem="Lazega-Law-Firm",
    mirror=_MISHRA,
    edges="7e51d00422d4d8765dfafbfa7b1cea70351197bc13cafe65a512f82630fc25f0",
    layers=LAZEGA.files[1],
    nodes=LAZEGA.files[2],
    num_nodes=71,
    num_layers=3,
    num_edges=2571,
    num_undirected=1842,
    terms=AS_IS,
    citation=_LAZEGA,
    note="The correct release: 892 advice, 575 friendship and 1,104 co-work ties. The paper used the faulty release of "
    "2014, 'lazega', which has 348 fewer edges.",
)

EUAIR = _comune(
    "euair",
    "Flights in Europe, a layer per airline",
    folder="EUAir_Multiplex_Transport",
    stem="EUAirTransportation",
    mirror=_COMPNET,
    edges="781bc202cdce79cf196c9ec7c5b8379de0f2bcf94a25e525860cf8e022ec67ec",
    layers="202e869fb9e960ce334969471d448df4b1fc0ecd91a3b90a44ada05cb64666c0",
    nodes="f520af035283a40b5ac191144a228b968d2fd9a9398737306dd0e23edd4aaa1d",
    num_nodes=450,
    num_layers=37,
    num_edges=3588,
    terms=AIR,
    citation="A. Cardillo et al., Emergence of network features from multiplexity, Scientific Reports 3, 1344 (2013)",
    note="The terms forbid comparing airlines. The owners' page is http://complex.unizar.es/~atnmultiplex/.",
)

# Four independent repositories have the original with this git id. The stand-ins were made from it, without weights.
_FAO_EDGES = File(
    "fao/fao_trade_multiplex.edges",
    "git:16703508d75321a0afc4f6876fa55d4a6ea2b41b",
    stand_in=File(
        "fao/DERIVED_fao_trade_unweighted.edges",
        "sha256:94a1c8d607ab84cd19fe25a7a6f303ef7908954fa64843b3ad4fae7d27449d07",
        stand_in=File("fao/layers", "joined:94a1c8d607ab84cd19fe25a7a6f303ef7908954fa64843b3ad4fae7d27449d07"),
    ),
)

FAO = _comune(
    "fao",
    "Trade of food between countries, a layer per product",
    folder="FAO_Multiplex_Trade",
    stem="fao_trade",
    edges=_FAO_EDGES,
    layers="7f5a9fe65411856515b594a55766a2091edaa95331f6372de087646127c787d6",
    nodes="4f02d1514107803714bafe60e22bdad514f5a729c14895766bd920a14c5d5567",
    num_nodes=214,
    num_layers=364,
    num_edges=318346,
    num_undirected=268339,
    weighted=True,
    terms=ODBL,
    citation=_REDUCIBILITY,
    note="If only a copy without weights is available (DERIVED_fao_trade_unweighted.edges, or one file per layer in "
    "layers/), it loads without weights and sets metadata['missing'].",
)

CELEGANS = _comune(
    "celegans",
    "Neurons of C. elegans, three kinds of synapse",
    folder="CElegans_Multiplex_Neuronal",
    stem="celegans_connectome",
    mirror=_PY3PLEX,
    edges="04ca397e2d46a23def3c5ffb39c4a7ac61e04e9b647bfa15b64e62c6d4839807",
    layers="30e2b854fee7206899dce2e9182ee8eee30a74217ea4129f17c3de0d2692d749",
    nodes="36ad8ddf92d1b340d275ddda602f7af96b506ff19c7df8b34200de4d547d78c8",
    num_nodes=279,
    num_layers=3,
    num_edges=5863,
    num_undirected=3105,
    terms=ODBL,
    citation="B. L. Chen, D. H. Hall, D. B. Chklovskii, Wiring optimization can relate neuronal structure and "
    f"function, PNAS 103, 4723-4728 (2006); {_MUXVIZ}",
    note="It loads as directed: the collection calls it undirected, but the file lists 94 % of the pairs in both "
    "directions.",
)

ARXIV = _comune(
    "arxiv",
    "Co-authors, a layer per arXiv category",
    folder="arXiv-Netscience_Multiplex_Coauthorship",
    stem="arxiv_netscience",
    mirror=_ZJUNYI,
    edges="8406dca3cf9e5aaf1d388e07440fd4ec7750f2ee08d39bcc348d224d6667a09d",
    layers="42475abf0a5d55be9b5b0f6f0e3fca50f253106ead5e412ecbdc011b515146fa",
    num_nodes=14489,
    num_layers=13,
    num_edges=59026,
    weighted=True,
    terms=ODBL,
    citation="M. De Domenico, A. Lancichinetti, A. Arenas, M. Rosvall, Identifying Modular Flows on Multilayer "
    "Networks Reveals Highly Overlapping Organization in Interconnected Systems, Physical Review X 5, 011027 (2015)",
    note="Nodes are numbered from 1, as in the file; its README says 0 to 14488. 424 have no edge.",
)

LONDON = _comune(
    "london",
    "Stations of London: underground, overground, DLR",
    folder="London_Multiplex_Transport",
    stem="london_transport",
    mirror=_COMPNET,
    edges="50bda06a46e30e30387a43a35aa839d3bfd9841f727f9119260ceef6eeb774ec",
    layers="b732674fbc5ec32cdf973c197075b5cb9abd52aaea1cb7f890f3c21cf3064910",
    nodes="b0e6ab619cd3f9b29f6b8cca5969ba1168a3feacdf5c246f8ef520f0c3a0cf81",
    num_nodes=369,
    num_layers=3,
    num_edges=441,
    weighted=True,
    terms=ODBL,
    citation="M. De Domenico, A. Sole-Ribalta, S. Gomez, A. Arenas, Navigability of interconnected networks under "
    "random failures, PNAS 111, 8351-8356 (2014)",
)

HOMO = _comune(
    "homo",
    "Genes and proteins of humans",
    folder="Homo_Multiplex_Genetic",
    stem="homo_genetic",
    mirror=_MASINAG,
    edges="03ef4ceb39e5c705c18866c02c61f82e446ae872498c7b5ce42005c4038a98a0",
    layers="7d2e9d2a3de2d5c931dc377364312280914359dc1c93beac32cb63b698796c09",
    nodes="edac614b877992be00660b30ba7756569a2d5b2ea24c49c2451bf8be02366838",
    num_nodes=18222,
    num_layers=7,
    num_edges=170899,
    num_undirected=153922,
    terms=ODBL,
    citation=f"{_BIOGRID}; {_MUXVIZ}",
)

SACCHCERE = _comune(
    "sacchcere",
    "Genes and proteins of yeast",
    folder="SacchCere_Multiplex_Genetic",
    stem="sacchcere_genetic",
    mirror=_MASINAG,
    edges="0eb49921271b95a34f7fb438cbf92a3f9cca14d2c96acdc5ab3ec83720f955bf",
    layers="3348f5de5dde966f9357508bffa0f1889e1a2da2280b18a1514edee4c43fac44",
    nodes="66f3880c6a0b09e51ceab549613bf45a9e58379133da042e3ade0bd492e4cd68",
    num_nodes=6570,
    num_layers=7,
    num_edges=282755,
    num_undirected=247152,
    terms=ODBL,
    citation=f"{_BIOGRID}; {_REDUCIBILITY}",
    note="The collection's README counts 282,754 edges; the file has one more.",
)

MOSCOW = _comune(
    "moscow",
    "Twitter users: retweets, mentions, replies",
    folder="MoscowAthletics2013_Multiplex_Social",
    stem="MoscowAthletics2013",
    mirror=_MASINAG,
    edges="3792a9651b5fb15c17cc788c970d22457ef311c9f3137073e4ea59c4325c0f87",
    layers="c32d8f18a27586b10a0c128eca1e5d8ada06dddb499b8dd7938c3652e44f974d",
    num_nodes=88804,
    num_layers=3,
    num_edges=210250,
    num_undirected=206017,
    weighted=True,
    terms=ODBL,
    citation="E. Omodei, M. De Domenico, A. Arenas, Characterizing interactions in online social networks during "
    "exceptional events, Frontiers in Physics 3, 59 (2015)",
)

_AMAZON = tuple(
    File(f"gatne-amazon/{name}", f"sha256:{checksum}", _GATNE + name)
    for name, checksum in (
        ("train.txt", "7f0bf710b34e020571a479b522d9cc9664e0dc5524d482b33fcc70f82293767a"),
        ("valid.txt", "fbbc0658147b306d24ad9a8833c94fca8e603c90896b71d4f31bfde844c9676d"),
        ("test.txt", "a62c291e1ac745081900db548e1972e68cb0bfe71426897401c88b289bab52db"),
    )
)

GATNE_AMAZON = Dataset(
    "gatne-amazon",
    "Products viewed or bought together (GATNE's Amazon)",
    partial(load_gatne, _AMAZON[0]),
    num_nodes=10099,
    num_layers=2,
    num_edges=148659,
    num_undirected=130899,
    directed=True,
    weighted=False,
    terms=AMAZON,
    citation="Y. Cen et al., Representation Learning for Attributed Multiplex Heterogeneous Network, KDD (2019)",
    address="https://github.com/THUDM/GATNE",
    note="The edges of train.txt and the positive pairs of valid.txt and test.txt, as directed edges; part='train' "
    "loads train.txt only. GATNE's README reports 10,166 nodes and 148,865 edges.",
    files=_AMAZON,
)

_POLYPHARMACY = tuple(
    File(f"polypharmacy/{name}", f"sha256:{checksum}")
    for name, checksum in (
        ("train.parquet", "1daff27c3ade781f3b486048de7673b0690eaadc37f9a05825080fdcc5ae37a2"),
        ("valid.parquet", "7209e5f7b82c3e914f869503584d026a0f975f238e01f659519df73257ad66fa"),
        ("test.parquet", "9eb064e9773b1e584d5e26b2a1bd3b12670e18ffd94ce0e29d96dcd5cae3f1c1"),
        ("valid_negatives.parquet", "bd28d34726aed9eea6f4be14c0a3de15ff92d0c6f0b92b8981168c70725c5321"),
        ("test_negatives.parquet", "b8869df625d7edcf0196bd2f2e730e7fe0b404d858960f1b0ded0eafb44d7cf3"),
        ("layers.csv", "57c966a69b2a1096dece45327870cbbd44408a4cef9e5255d17214e16d45719e"),
    )
)

POLYPHARMACY = Dataset(
    "polypharmacy",
    "Side effects of pairs of drugs, a layer per side effect",
    partial(load_split_tables, _POLYPHARMACY[0]),
    num_nodes=645,
    num_layers=963,
    num_edges=4576287,
    num_undirected=4576287,
    directed=False,
    weighted=False,
    terms="No licence named: for research. Cite the two papers.",
    citation="M. Zitnik, M. Agrawal, J. Leskovec, Modeling polypharmacy side effects with graph convolutional "
    "networks, Bioinformatics 34, i457-i466 (2018); N. P. Tatonetti et al., Data-driven prediction of drug effects and "
    "interactions, Science Translational Medicine 4, 125ra31 (2012)",
    address="https://snap.stanford.edu/decagon",
    note="These tables, with the split of 80/10/10 that is used in print, cannot be downloaded: put them into the data "
    "folder. Without them, take bio-decagon-combo from the address, keep side effects with at least 500 pairs of "
    "drugs, and read it as a table with columns source, target and layer. part='train' loads the training edges.",
    files=_POLYPHARMACY,
)

_PYKEEN = _GITHUB + "pykeen/pykeen/v1.11.1/src/pykeen/datasets/{}/"
_KEMP = (
    "C. Kemp, J. B. Tenenbaum, T. L. Griffiths, T. Yamada, N. Ueda, Learning Systems of Concepts with an Infinite "
    "Relational Model, AAAI (2006)"
)


def _triples(
    name: str, title: str, train: str, valid: str, test: str, *, source: str, counts: tuple[int, int, int, int]
) -> Dataset:
    """Declare a knowledge graph with the split that is used in print.

    `train`, `valid` and `test` are sha256 checksums; `counts` are those of nodes, layers, edges and undirected edges.
    """
    files = tuple(
        File(f"{name}/{part}.txt", f"sha256:{checksum}", _PYKEEN.format(name) + f"{part}.txt")
        for part, checksum in (("train", train), ("valid", valid), ("test", test))
    )
    return Dataset(
        name,
        title,
        partial(load_triples, files[0]),
        *counts,
        directed=True,
        weighted=False,
        terms="Part of PyKEEN, under the MIT licence; for the original collection, no licence is named: cite it.",
        citation=f"{source}; {_KEMP}",
        address="https://github.com/pykeen/pykeen",
        note="All triples; part='train', 'valid' or 'test' loads one part of the split that is used in print.",
        files=files,
    )


NATIONS = _triples(
    "nations",
    "Relations between countries in the 1950s and 1960s",
    "0830fa9da8e5bba2ccdaa45b7bdc9130451ba66b09ff2708f35fccaf82473e57",
    "2b337a62e51a2f45c283eac98a70d21b7e0e102136be1539b2a52c652a7b0530",
    "3971085165b47b6aeaec68058c6d8d98b3005e929db81268410b95ae4db770ab",
    source="R. J. Rummel, Dimensionality of Nations Project (1999)",
    counts=(14, 55, 1992, 1314),
)
KINSHIPS = _triples(
    "kinships",
    "Kinship terms of the Alyawarra; every pair has one",
    "738612111a6acf0e39662bde24c7e72a4d1edf20931beea077da367dda689731",
    "c56f8630a583178b1e569f11a64aa535ae1ce0b0912d8b1e24716be2b37f04da",
    "05e5733265761d55be9c05bfaff5a8d0808df46f9c1e9d66cc3f2fe114e43d88",
    source="W. W. Denham, The Detection of Patterns in Alyawarra Nonverbal Behavior, University of Washington (1973)",
    counts=(104, 25, 10686, 9258),
)
UMLS = _triples(
    "umls",
    "Relations between medical concepts",
    "873ef4925516b83e7f6f8cc02b4be51d848828710a7f65a956f0ac4a9e452f35",
    "025c98f8a4891e2a6582ec5b40ee0d904031edad9c52554522f4b7904820c98e",
    "a7eb529a3d2810fcc96341ccc97c625a5e202f8389673aa6bd317eeebbb79014",
    source="A. T. McCray, An Upper-Level Ontology for the Biomedical Domain, Comparative and Functional Genomics 4, "
    "80-84 (2003)",
    counts=(135, 46, 6529, 5979),
)

CATALOG = (
    CKM, VICKERS, LAZEGA, LAZEGA_CORRECTED, EUAIR, FAO, CELEGANS, ARXIV, LONDON, HOMO, SACCHCERE, MOSCOW, GATNE_AMAZON,
    POLYPHARMACY, NATIONS, KINSHIPS, UMLS,
)  # fmt: skip
