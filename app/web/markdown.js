// Markdown as nodes of the page. marked reads the text, the nodes are made here, by createElement and textContent:
// no HTML is parsed, so nothing in a text can become markup. HTML in it is shown as the text that it is.

import { Marked } from "./vendor/marked.js";

const LABEL = String.raw`\[([^\[\]\n]{1,160}#[^\[\]#\n]{1,160})\](?!\(https?://)`;
const MARK = new RegExp(`^${LABEL}`);
const MARKS = new RegExp(LABEL, "g");
const HALF = /\[[^\[\]\n]{0,160}$/; // the beginning of a mark, at the end of what has come so far
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: "\u00a0", "#39": "'" };
const FRAME = 16; // ms
const STEP = 1_500; // characters that are shown at once
const MANY = 12; // lines from which a table or block of code is not made anew
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

const row = (tag, cells, cite) => element("tr", cells.map((cell) =>
  element(tag, nodes(cell.tokens, cite), cell.align ? `align-${cell.align}` : "")));

function table(token, cite) {
  const body = token.rows.map((cells) => row("td", cells, cite));
  const made = element("table", [element("thead", [row("th", token.header, cite)]), element("tbody", body)]);
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

/** Of a table or a fenced block: what stands before its lines, and the lines in Markdown; null: of neither. */
function lined(token) {
  const fenced = token.type === "code" && token.codeBlockStyle !== "indented";
  if (!fenced && token.type !== "table") return null;
  const before = fenced ? 1 : 2;
  const count = !fenced ? token.rows.length : token.text ? token.text.split("\n").length : 0;
  const lines = token.raw.split("\n");
  return { head: `${lines.slice(0, before).join("\n")}\n`, lines: lines.slice(before, before + count) };
}

/** Lines of code as a block of their own, so that the browser does not set all lines anew for each that comes. */
function group(lines) {
  if (!lines.length) return [];
  return [element("span", [lines.join("\n") + (lines.at(-1) ? "" : "\n")], "part")];
}

/** Markdown that grows in `place`. Blocks that can change no more stay as they are, the last is made anew; of a long
 *  table or block of code only its last line is. */
export class Writing {
  #settled = 0; // characters whose nodes stay
  #shown = 0; // characters that have been drawn
  #open = null; // the table or block of code that goes on: {head, body}
  #last = []; // nodes that may change
  #timer = 0;
  #took = 0; // ms that the last drawing cost
  #drained = []; // who waits until all is shown

  /** `citations` by label; `cite(citation)` makes the element of one. */
  constructor(place, citations, cite) {
    this.place = place;
    this.text = "";
    this.marked = reader(citations);
    this.cite = (label) => cite(citations.get(label));
  }

  /** More of it, shown soon and little by little; `drawn` is called around the change. What is slow to draw is drawn
   *  less often. */
  add(text, drawn = (change) => change()) {
    this.text += text.replace(/\r\n?/g, "\n");
    this.#soon(drawn);
  }

  /** When all that was added is shown. */
  drained() {
    return this.#timer ? new Promise((resolve) => this.#drained.push(resolve)) : Promise.resolve();
  }

  /** All of it, at once. */
  end() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#draw(this.text);
  }

  #soon(drawn) {
    this.#timer ||= setTimeout(() => {
      const began = performance.now();
      const end = this.#shown + STEP;
      this.#timer = 0;
      drawn(() => this.#draw(this.text.slice(0, end).replace(HALF, "")));
      this.#took = performance.now() - began;
      this.#shown = Math.min(end, this.text.length);
      if (this.#shown < this.text.length) this.#soon(drawn);
      else for (const resolve of this.#drained.splice(0)) resolve();
    }, Math.max(FRAME, 4 * this.#took));
  }

  #draw(text) {
    for (const node of this.#last) node.remove();
    this.#last = [];
    const head = this.#open?.head ?? "";
    try {
      const tokens = this.marked.lexer(head + text.slice(this.#settled));
      const end = tokens.findLastIndex((token) => token.type !== "space");
      if (this.#open && tokens.length) this.#goOn(tokens.shift(), end <= 0);
      const settled = tokens.splice(0, head ? end - 1 : Math.max(end, 0));
      this.place.append(...nodes(settled, this.cite));
      this.#settled += settled.reduce((sum, token) => sum + token.raw.length, 0);
      if (tokens.length) this.#begin(tokens);
    } catch { // nested so deep that nobody could read it
      this.#add(this.place, [text.slice(this.#settled)]);
    }
  }

  /** The last block. One of many lines stays open. */
  #begin([token, ...rest]) {
    const made = nodes([token], this.cite);
    const many = lined(token);
    if (!many || many.lines.length < MANY) return this.#add(this.place, [...made, ...nodes(rest, this.cite)]);
    this.place.append(...made);
    const body = made[0].querySelector("tbody") ?? made[0].querySelector("code");
    body.replaceChildren();
    this.#open = { head: many.head, body };
    this.#settled += many.head.length;
    this.#goOn(token, true);
  }

  /** The lines of the open block: all but the last stay, or all if it has ended. */
  #goOn(token, open) {
    const { head, body } = this.#open;
    const lines = lined(token)?.lines ?? [];
    const rows = token.type === "table"
      ? (from, to) => token.rows.slice(from, to).map((cells) => row("td", cells, this.cite))
      : (from, to) => group(token.text.split("\n").slice(from, to));
    const keep = open ? Math.max(lines.length - 1, 0) : lines.length;
    body.append(...rows(0, keep));
    if (open) {
      this.#settled += lines.slice(0, keep).reduce((sum, line) => sum + line.length + 1, 0);
      this.#add(body, rows(keep, lines.length));
    } else {
      this.#settled += token.raw.length - head.length;
      this.#open = null;
    }
  }

  #add(place, made) {
    const added = made.map((node) => (typeof node === "string" ? document.createTextNode(node) : node));
    this.#last.push(...added);
    place.append(...added);
  }
}
