// What a term means, on a tap or a key: a mark beside the term opens its sentence, Escape or a tap elsewhere closes it.
(() => {
  "use strict";
  const { el, t } = window.SB;
  const TERMS = {
    "cosine": "The cosine of the angle between two vectors: 1 where they point the same way, 0 where they have nothing to do with each other. It does not depend on how long the texts are.",
    "dot product": "The sum of the products of two vectors' numbers. Of vectors of length one it is the cosine.",
    "Euclidean": "The straight distance between two vectors: 0 where they are the same, larger the further apart they lie.",
    "Manhattan": "The distance between two vectors if one may only walk along the axes: the differences of their numbers, added up.",
    "Spearman": "How well the order of the scores agrees with the order that people gave: 1 is the same order, 0 none, −1 the opposite. How large the scores are does not count.",
    "Pearson": "How well the scores lie on a straight line with those that people gave: 1 exactly, 0 not at all.",
    "95% interval": "Where the score would lie in 95 of 100 sets of rows drawn like these. Wide means few rows: then small differences say nothing.",
    "beyond chance": "Whether the same rows, drawn again a thousand times, would show this difference nearly every time. Where not, the two may as well be equal.",
    "MRR@10": "Mean reciprocal rank: 1 where the right text comes first, ½ where it comes second, down to ⅒, and 0 below; the mean over all queries.",
    "nDCG@10": "How far up the right texts come among the first ten: 1 where they all lead, less the further down they stand.",
    "accuracy@": "Of 100 queries, how many have a right text among the first so many.",
    "V-measure": "How well clusters found without the labels match them: 1 where each cluster is one category and each category one cluster.",
    "macro F1": "Precision and recall of each category in one number, and the mean of all categories, small ones counting as much as large ones.",
    "ROC AUC": "How often a pair that belongs together scores higher than one that does not: 1 always, ½ by chance.",
    "average precision": "How many right pairs lead the list by score, over all places where it could be cut: 1 where all of them come first.",
    "BM25": "A score of the words that a query and a text share, where rare words count more and long texts less. It knows no meaning.",
    "UMAP": "A way of drawing vectors of hundreds of numbers on a plane, so that neighbours stay neighbours. Distances far apart mean little.",
    "HDBSCAN": "A clustering that finds dense patches by itself and leaves out what lies between them.",
    "k-means": "A clustering into as many groups as you say, each around its mean.",
    "LoRA": "Low-rank adaptation: small matrices are trained beside the model's own weights, which stay. It takes less memory, and the result is a few megabytes.",
    "epochs": "How often the training goes through all rows.",
    "learning rate": "How far each step moves the weights. Too large and the training diverges, too small and it learns nothing in time.",
    "batch size": "How many rows are learned from in one step. Losses that take other rows as negatives gain from large ones.",
    "pooling": "How the vectors of a text's tokens become one: their mean, their largest values, or that of the first token.",
    "temperature": "By what differences of scores are divided: the smaller it is, the more the closest wrong answer counts.",
    "warm-up": "The first part of the training, in which the learning rate rises from nothing.",
    "dimensions": "How many numbers a vector has.",
    "negatives": "Texts that do not belong together, from which the model learns to keep them apart.",
    "anisotropy": "How much all vectors point the same way: 0 evenly in all directions, 1 all the same.",
    "loss": "What the training makes small: how scores, pairs, triplets or categories tell the model where it is wrong.",
    "strength": "How much of what was learned is kept: 0 is the model as it was, 1 all of it, between them the weights are mixed.",
    "held out": "Rows that the training never sees, by which it is judged.",
    "folds": "The rows are parted, and each part is judged once by a model that learned from the others: every row counts, and none is known.",
    "least distance": "How close two points may be drawn. Small makes tight clumps, large spreads them.",
    "neighbours": "How many of the nearest texts a point is drawn by. Few show fine detail, many the broad picture.",
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
