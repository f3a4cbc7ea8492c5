"""What the page says that is in none of our literals, and literals that look like words and are none."""

# Gradio's own words, in its English, which the page makes it speak.
GRADIO = (
    *("- or -", "Clear", "Click to Upload", "Click to upload or drop files", "Connection errored out.", "Connection Lost", "Download"),
    *("Drop File Here", "Dropdown", "Edit", "Empty", "Error", "File", "Info", "Loading", "Loading...", "Remove", "Remove this file"),
    *("Connection to the server was lost. Attempting reconnection...", "Reset to default value", "Success", "Uploading...", "Waiting"),
    *(
        "Warning",
        "In queue: {place} of {size}",
        "number input for {label}",
        "range slider for {label}",
        "Remove {choice}",
        "Invalid file type: {names}. Only {types} allowed.",
        "Invalid file types: {names}. Only {types} allowed.",
        "processing |",
        "queue: {place}/{size} |",
        "or",
    ),
    "Lost connection due to leaving page. Rejoining queue...",
    "On mobile, the connection can break if this tab is unfocused or the device sleeps, losing your position in queue.",
    "There is a long queue of requests pending. Duplicate this Space to skip.",
    "Waiting for file(s) to finish uploading, please retry.",
)

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")

# Names of measures, which are made of the keys of their scores.
_KINDS = ("Spearman", "Pearson", "accuracy", "F1", "average precision", "precision", "recall")
MEASURES = (
    *(f"{similarity} {kind}" for similarity in ("Cosine", "Dot", "Euclidean", "Manhattan") for kind in _KINDS),
    *(
        "Accuracy",
        "accuracy",
        "V measure",
        "Ndcg at 10",
        "Macro F1",
        "Anisotropy",
        "Uniformity",
        "Alignment",
        "Homogeneity",
        "Completeness",
    ),
    *("Average precision", "Mean Spearman", "Nearest neighbor accuracy", "Centroid accuracy", "F1 threshold"),
    *(f"{kind} at {k}" for kind in ("Accuracy", "Recall") for k in (1, 5, 10, 100)),
)
# Between texts in a row.
SEPARATORS = (", ", "; ", ": ", " and ", " or ", ", and ", " (", ")")
# What is said in parts, each of which may stand alone.
PARTS = (
    *(
        "not converted",
        "{message} ({rows})",
        "Sentences/s",
        "dot",
        "euclidean",
        "manhattan",
        "evaluation",
        "there is no such limit on your own machine",
    ),
)

# Keys, classes, columns of public sets.
NAMES = {
    *(
        "use strict",
        "Escape",
        "Home",
        "Tab",
        "End",
        "Enter",
        "header p",
        "ol li > button",
        "x unified",
        "markers+text",
        "lines+markers",
    ),
    *(
        "say {verdict}",
        "gold_label sentence1_binary_parse",
        '{"ImportId"',
        '{"query": "query: ", "document": "passage: "}',
        "accuracy@",
        "Wi",
        "Choices",
        "Start",
        "Mapping",
        "Sigmoid",
        "Cbow",
        "Quality",
        "Article Title",
        "Article Link",
    ),
    *("Sentence1", "Sentence2", "Sentence3", "pair_ID sentence_A sentence_B", "{0} --target {1}", "{0} si", "ABCDEFabcdef _-.#"),
    *("première", "deuxième", "schlagwörter", "título", "Wqkv", "tf_*", "flax_*", "torch.nn.modules.linear.Identity"),
    *("torch.nn.modules.activation.Sigmoid", "MSRpar", "MSRvid", "SMTeuroparl", "SMTnews", "SICK_test_annotated", "SICK_trial"),
    *("Router", "Asym", "model name", "cpu family", "A kitten naps on the warm stones of the yard.", "It rains."),
    "How do I get my money back for a parcel that never came?",
    "I'd like a refund, the package was not delivered.",
    "The cat sleeps on the warm windowsill. A kitten is napping in the sun. Our quarterly revenue grew by eight percent. "
    "Sales were up this quarter. How do I bake bread without yeast?",
}
