// What a term means, on a tap or a key: a mark beside the term opens its sentence, Escape or a tap elsewhere closes it.
(() => {
  "use strict";
  const { el, t } = window.SB;
  const TERMS = {
    "cosine": "The cosine of the angle between two vectors: 1 if they point in the same direction, 0 if they are orthogonal. It does not depend on the vectors' lengths.",
    "dot product": "The sum of the products of two vectors' components. For unit vectors it equals the cosine.",
    "Euclidean": "The straight-line distance between two vectors: 0 if they are equal, larger the farther apart they are.",
    "Manhattan": "The distance between two vectors along the axes: the sum of the absolute differences of their components.",
    "Spearman": "Rank correlation between the model's scores and the human scores: 1 is the same order, 0 no relation, −1 the opposite order. Only the order counts, not the size of the scores.",
    "Pearson": "Linear correlation between the model's scores and the human scores: 1 is a perfect line, 0 no linear relation.",
    "95% interval": "The range of the score over 95 of 100 resamples of the rows. A wide interval means few rows, so small differences are not conclusive.",
    "beyond chance": "A difference that nearly all of a thousand resamples of the rows show. Without it, the two may be equally good.",
    "MRR@10": "Mean reciprocal rank: 1 if the correct text is first, ½ if second, down to ⅒, and 0 below that, averaged over all queries.",
    "nDCG@10": "How high the correct texts rank in the top ten: 1 if they are all at the top, and less the further down they are.",
    "accuracy@": "Percentage of queries with a correct text among the top k results.",
    "V-measure": "How well clusters found without the labels match the categories: 1 if each cluster is exactly one category.",
    "macro F1": "The F1 score (harmonic mean of precision and recall), averaged over all categories with equal weight.",
    "ROC AUC": "How often a positive pair scores higher than a negative one: 1 always, ½ by chance.",
    "average precision": "Mean precision at the rank of each positive pair, by score: 1 if every positive pair ranks above every negative one.",
    "BM25": "A score based on the words that a query and a text share: rare words count more, and words in long texts count less. It ignores meaning.",
    "UMAP": "A projection of high-dimensional vectors to 2-D or 3-D that keeps neighbors close. Large distances mean little.",
    "HDBSCAN": "A clustering method that finds dense regions and leaves points between them unassigned.",
    "k-means": "A clustering method that forms a given number of groups, each around its mean.",
    "LoRA": "Low-rank adaptation: trains small matrices and leaves the model's own weights frozen. It needs less memory, and the adapter is only a few megabytes.",
    "epochs": "Number of passes over all rows.",
    "learning rate": "How far each step moves the weights. If it is too large, training diverges; if it is too small, training is too slow.",
    "batch size": "Number of rows per training step. Losses with in-batch negatives benefit from large batches.",
    "pooling": "How token vectors are combined into one vector per text: their mean, their maximum, or the vector of the first token.",
    "temperature": "Divisor of the scores in the softmax: the smaller it is, the more the hardest negatives count.",
    "warm-up": "The first part of training, in which the learning rate rises from 0.",
    "dimensions": "Number of components of a vector.",
    "negatives": "Dissimilar texts, which the model learns to keep apart.",
    "anisotropy": "How much all vectors point in the same direction: 0 if spread evenly, 1 if identical.",
    "loss": "The quantity that training minimizes: it measures how far the model is from the scores, pairs, triplets or categories.",
    "strength": "Interpolation between the base model (0) and the fine-tuned model (1).",
    "held out": "Rows that are not used for training, so that the model can be evaluated on them.",
    "folds": "The rows are split into parts, and each part is evaluated once by a model trained on the others, so every row is evaluated by a model that has not seen it.",
    "minimum distance": "Minimum distance between points on the map. Small values give tight clusters, large values spread them out.",
    "neighbors": "Number of nearest texts that determine a point's position. Small values show fine detail, large values the overall structure.",
  };
  const words = Object.keys(TERMS).sort((a, b) => b.length - a.length);
  const found = (text) => words.find((word) => {
    const at = text.toLowerCase().indexOf(word.toLowerCase());
    return at >= 0 && !/\p{L}/u.test(text[at - 1] || "") && !/\p{L}/u.test(word.endsWith("@") ? "" : text[at + word.length] || "");
  });

  let open = null;
  function close(back) {
    if (!open) return;
    open.mark.setAttribute("aria-expanded", "false");
    open.box.remove();
    if (back) open.mark.focus();
    open = null;
  }
  function show(mark, term) {
    const same = open && open.mark === mark;
    close(false);
    if (same) return;
    const box = el("div", { class: "sb-help", role: "tooltip", id: "sb-help" }, el("strong", {}, term.replace(/@$/, "@k")), el("p", {}, TERMS[term]));
    document.body.append(box);
    const place = mark.getBoundingClientRect(), width = box.offsetWidth, height = box.offsetHeight;
    box.style.left = `${Math.max(8, Math.min(place.left, innerWidth - width - 8))}px`;
    box.style.top = `${place.bottom + height + 12 > innerHeight ? Math.max(8, place.top - height - 6) : place.bottom + 6}px`;
    mark.setAttribute("aria-expanded", "true");
    mark.setAttribute("aria-describedby", "sb-help");
    open = { mark, box, top: place.top };
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && open) { close(true); event.stopPropagation(); } });
  document.addEventListener("pointerdown", (event) => { if (open && !open.box.contains(event.target) && event.target !== open.mark) close(false); });
  // Scrolled away from its term, it would stand beside another one.
  addEventListener("scroll", () => { if (open && Math.abs(open.mark.getBoundingClientRect().top - open.top) > 24) close(false); }, { capture: true, passive: true });

  // A mark for the term that a name holds, or nothing.
  function help(text) {
    const term = found(String(text ?? ""));
    if (!term) return null;
    // No button: within a label that would be what the label names, and the field would have no name.
    const mark = el("span", { role: "button", tabindex: 0, class: "sb-term", "aria-expanded": "false", "aria-label": t`What is ${term.replace(/@$/, "@k")}?` }, "?");
    const press = (event) => { event.preventDefault(); event.stopPropagation(); show(mark, term); };
    mark.addEventListener("click", press);
    mark.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") press(event); });
    return mark;
  }

  // The names of Gradio's own boxes get one too; those whose purpose stands below them explain themselves.
  function label(node) {
    if (node.dataset.term !== undefined) return;
    node.dataset.term = "";
    const mark = help(node.textContent);
    if (mark) node.append(mark);
  }
  const NAMED = "[data-testid='block-info']";
  const scan = (root) => {
    if (!root.querySelectorAll) return;
    if (root.matches(NAMED)) label(root);
    root.querySelectorAll(NAMED).forEach(label);
  };
  new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach(scan))).observe(document.documentElement, { childList: true, subtree: true });

  window.SB.help = help;
})();
