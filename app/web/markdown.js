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
const MANY = 12; // rows, lines or items from which a table, block of code or list is not made anew
const LONG = 4_000; // characters from which a paragraph is not, but for its
const TAIL = 1_000; // last ones: what is longer does not become bold any more by stars that come later
const INSIDE = "x "; // before the rest of a line, which must not be read as the beginning of a block
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

/** Lines of code as a block of their own, so that the browser does not set all lines anew for each that comes. */
function group(lines) {
  if (!lines.length) return [];
  return [element("span", [lines.join("\n") + (lines.at(-1) ? "" : "\n")], "part")];
}

const lines = (raw, from, count) => raw.split("\n").slice(from, from + count);
const first = (raw, count) => `${lines(raw, 0, count).join("\n")}\n`;

/** A text in pieces that end with a space. */
const pieces = (token) => (token.type === "text" && token.raw === token.text && !token.tokens
  ? (token.text.match(/[^]{1,400}[^ ]*(?: |$)/g) ?? []).map((raw) => ({ type: "text", raw, text: raw })) : [token]);

/** What a paragraph consists of, cut where a space is in its lines; with `head`, that is not part of it. */
function spans({ tokens, raw }, head) {
  const [begin, ...rest] = tokens ?? [{ type: "text", raw, text: raw }];
  const all = [head ? { ...begin, raw: begin.raw.slice(head.length), text: begin.text.slice(head.length) } : begin, ...rest];
  const parts = [[]];
  for (const token of all.flatMap(pieces)) {
    parts.at(-1).push(token);
    if (token.type === "text" && token.raw.endsWith(" ")) parts.push([]);
  }
  return parts.filter(({ length }) => length);
}

/** The long blocks of which only the end is made anew: `parts(token, head)` and the characters of one, `long(token, parts)`;
 *  `head(token)` stands before the rest, so that it is read alike (`own`: it is part of the text); `body(made)` is
 *  where `make(token, parts, from)` goes; `tail`: characters at the end that may still change, at least one part. */
const GROWING = {
  table: {
    parts: ({ raw, rows }) => lines(raw, 2, rows.length), size: (line) => line.length + 1, long: (_, { length }) => length >= MANY,
    head: ({ raw }) => first(raw, 2), own: true, body: (made) => made.querySelector("tbody"), tail: 0,
    make: ({ rows }, { length }, from, cite) => rows.slice(from, from + length).map((cells) => row("td", cells, cite)),
  },
  code: {
    parts: ({ raw, text }) => lines(raw, 1, text ? text.split("\n").length : 0), size: (line) => line.length + 1,
    long: ({ codeBlockStyle: style }, { length }) => style !== "indented" && length >= MANY,
    head: ({ raw }) => first(raw, 1), own: true, body: (made) => made.firstChild, tail: 0,
    make: ({ text }, { length }, from) => group(text.split("\n").slice(from, from + length)),
  },
  list: {
    parts: ({ items }) => items, size: ({ raw }) => raw.length, long: (_, { length }) => length >= MANY,
    head: () => "", body: (made) => made, tail: 0,
    make: (_, items, _from, cite) => items.map((item) => element("li", nodes(item.tokens, cite))),
  },
  paragraph: {
    parts: spans, size: (tokens) => tokens.reduce((sum, { raw }) => sum + raw.length, 0), long: ({ raw }) => raw.length >= LONG,
    head: () => INSIDE, body: (made) => made, tail: TAIL,
    make: (_, parts, _from, cite) => nodes(parts.flat(), cite),
  },
};

/** Markdown that grows in `place`. Blocks that can change no more stay as they are, the last is made anew; of a long
 *  one only its end is. */
export class Writing {
  #settled = 0; // characters whose nodes stay
  #shown = 0; // characters that have been drawn
  #open = null; // the long block that goes on: {type, head, body}
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
    try {
      const tokens = this.marked.lexer((this.#open?.head ?? "") + text.slice(this.#settled));
      let end = tokens.findLastIndex((token) => token.type !== "space");
      if (this.#open?.type === "list" && tokens[0]?.type !== "list") this.#open = null;
      if (this.#open && tokens.length) {
        this.#goOn(tokens.shift(), end <= 0);
        end -= 1;
      }
      const settled = tokens.splice(0, Math.max(end, 0));
      this.place.append(...nodes(settled, this.cite));
      this.#settled += settled.reduce((sum, token) => sum + token.raw.length, 0);
      if (tokens.length) this.#begin(tokens);
    } catch { // nested so deep that nobody could read it
      this.#add(this.place, [text.slice(this.#settled)]);
    }
  }

  /** The last block. A long one stays open. */
  #begin([token, ...rest]) {
    const made = nodes([token], this.cite);
    const kind = GROWING[token.type];
    if (!kind?.long(token, kind.parts(token, ""))) return this.#add(this.place, [...made, ...nodes(rest, this.cite)]);
    this.place.append(...made);
    const body = kind.body(made[0]);
    body.replaceChildren();
    const head = kind.head(token);
    this.#open = { type: token.type, head: kind.own ? head : "", body };
    if (kind.own) this.#settled += head.length;
    this.#goOn(token, true);
    this.#open.head = head;
  }

  /** The parts of the open block: all but its end stay, or all if it has ended. */
  #goOn(token, open) {
    const { type, head, body } = this.#open;
    const kind = GROWING[type];
    const parts = kind.parts(token, kind.own ? "" : head);
    let keep = parts.length;
    for (let tail = 0; open && keep && (keep === parts.length || tail < kind.tail);) tail += kind.size(parts[--keep]);
    body.append(...kind.make(token, parts.slice(0, keep), 0, this.cite));
    if (open) {
      this.#settled += parts.slice(0, keep).reduce((sum, part) => sum + kind.size(part), 0);
      this.#add(body, kind.make(token, parts.slice(keep), keep, this.cite));
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
