// Markdown as nodes of the page. marked reads the text, the nodes are made here, by createElement and textContent:
// no HTML is parsed, so nothing in a text can become markup. HTML in it is shown as the text that it is.

import { Marked } from "./vendor/marked.js";

const LABEL = String.raw`\[([^\[\]\n]{1,160}#[^\[\]#\n]{1,160})\](?!\(https?://)`;
const MARK = new RegExp(`^${LABEL}`);
const MARKS = new RegExp(LABEL, "g");
const HALF = /\[[^\[\]\n]{0,160}$/; // the beginning of a mark, at the end of what has come so far
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: "\u00a0", "#39": "'" };
const FRAME = 16; // ms
const PROTOCOLS = ["http:", "https:", "mailto:"];

/** A reader of Markdown to which `[name#id]` is a citation if `known` knows it, whatever else stands in the name. */
function reader(known) {
  const citation = {
    name: "citation",
    level: "inline",
    start: (text) => text.indexOf("["),
    tokenizer(text) {
      const mark = MARK.exec(text);
      return mark && known.has(mark[1]) ? { type: "citation", raw: mark[0], label: mark[1] } : undefined;
    },
  };
  const tokenizer = {
    html: () => undefined, // HTML is text, and Markdown in it is still Markdown
    tag: (text) => (/^<br *\/?>/i.test(text) ? false : undefined), // models break lines of tables so
    def: () => undefined, // `[name#id]: …` is a line like any other
  };
  // The stars of a name in a mark do not pair with those of the text.
  const hooks = { emStrongMask: (text) => text.replace(MARKS, (mark) => "a".repeat(mark.length)) };
  return new Marked({ gfm: true, breaks: true, extensions: [citation], tokenizer, hooks });
}

function element(tag, children = [], className = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

const decoded = (text) => text.replace(/&(amp|lt|gt|quot|nbsp|#39);/g, (_, name) => ENTITIES[name]);

function safe(address) {
  try {
    return PROTOCOLS.includes(new URL(address).protocol); // without a base: only whole addresses are links
  } catch {
    return false;
  }
}

function link(token, children) {
  if (!safe(token.href)) return [token.raw];
  const made = element("a", children.length ? children : [token.href]);
  return [Object.assign(made, { href: token.href, target: "_blank", rel: "noopener noreferrer nofollow" })];
}

function table(token, cite) {
  const row = (tag, cells) => element("tr", cells.map((cell) =>
    element(tag, nodes(cell.tokens, cite), cell.align ? `align-${cell.align}` : "")));
  const body = token.rows.map((cells) => row("td", cells));
  const made = element("table", [element("thead", [row("th", token.header)]), element("tbody", body)]);
  return element("div", [made], "table"); // which scrolls, so that the page does not
}

function list(token, cite) {
  const made = element(token.ordered ? "ol" : "ul", token.items.map((item) => element("li", nodes(item.tokens, cite))));
  if (token.ordered && token.start !== 1) made.start = token.start;
  return made;
}

/** What becomes of each kind of token; of any other its own text. `cite` makes the element of a citation. */
const MAKE = {
  space: () => [],
  checkbox: (token) => [token.checked ? "☑ " : "☐ "],
  citation: (token, cite) => [cite(token.label)],
  text: (token, cite) => (token.tokens ? nodes(token.tokens, cite) : [decoded(token.text)]),
  escape: (token) => [token.text],
  br: () => [element("br")],
  html: () => [element("br")],
  hr: () => [element("hr")],
  paragraph: (token, cite) => [element("p", nodes(token.tokens, cite))],
  heading: (token, cite) => [element(`h${Math.min(token.depth + 2, 6)}`, nodes(token.tokens, cite))],
  strong: (token, cite) => [element("strong", nodes(token.tokens, cite))],
  em: (token, cite) => [element("em", nodes(token.tokens, cite))],
  del: (token, cite) => [element("del", nodes(token.tokens, cite))],
  codespan: (token) => [element("code", [token.text])],
  code: (token) => [element("pre", [element("code", [token.text])])],
  blockquote: (token, cite) => [element("blockquote", nodes(token.tokens, cite))],
  list: (token, cite) => [list(token, cite)],
  table: (token, cite) => [table(token, cite)],
  link: (token, cite) => link(token, nodes(token.tokens, cite)),
  image: (token) => link(token, [token.text || token.href]), // nothing is fetched that the reader did not ask for
};

function nodes(tokens, cite) {
  return tokens.flatMap((token) => (Object.hasOwn(MAKE, token.type) ? MAKE[token.type](token, cite) : [token.raw]));
}

/** Markdown that grows in `place`. Blocks that can change no more stay as they are, the last is made anew. */
export class Writing {
  #settled = 0; // characters whose blocks stay
  #last = []; // nodes of the last block
  #timer = 0;
  #took = 0; // ms that the last drawing cost

  /** `citations` by label; `cite(citation)` makes the element of one. */
  constructor(place, citations, cite) {
    this.place = place;
    this.text = "";
    this.marked = reader(citations);
    this.cite = (label) => cite(citations.get(label));
  }

  /** More of it, shown soon; `drawn` is called around the change. What is slow to draw is drawn less often. */
  add(text, drawn = (change) => change()) {
    this.text += text.replace(/\r\n?/g, "\n");
    const draw = () => drawn(() => this.#draw(this.text.replace(HALF, "")));
    this.#timer ||= setTimeout(draw, Math.max(FRAME, 4 * this.#took));
  }

  /** All of it, at once. */
  end() {
    this.#draw(this.text);
  }

  #draw(text) {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const began = performance.now();
    for (const node of this.#last) node.remove();
    let settled, last;
    try {
      const tokens = this.marked.lexer(text.slice(this.#settled));
      const end = tokens.findLastIndex((token) => token.type !== "space");
      settled = tokens.slice(0, Math.max(end, 0));
      last = nodes(tokens.slice(Math.max(end, 0)), this.cite);
      this.place.append(...nodes(settled, this.cite));
    } catch { // nested so deep that nobody could read it
      [settled, last] = [[], [text.slice(this.#settled)]];
    }
    this.#settled += settled.reduce((sum, token) => sum + token.raw.length, 0);
    this.#last = last.map((node) => (typeof node === "string" ? document.createTextNode(node) : node));
    this.place.append(...this.#last);
    this.#took = performance.now() - began;
  }
}
