// The tab "Page": the page as the service draws it, the passage and the quoted sentence marked over it.

import { address, blob } from "./api.js";
import { box, button, make } from "./dom.js";
import { chunk, documentPart, lost, pageAndSheet } from "./passage.js";

const ZOOMS = [1, 1.25, 1.5, 2, 3];
const MOST_PAGES = 4; // of one passage at once; the next ones by the button
const MOST_SCALE = 3; // pixels a point: the service draws no larger
const POINTS = 612; // across a page of unknown width
const HIGH = 0.3; // of the view: where the first mark is brought
const ratios = new Map(); // height by width, of documents that were seen

/** Fills the tab with an entry's pages. `from`: {session, quotes, about(id)}, the quotes maybe later. */
export async function showPages(tab, entry, from) {
  const { document, n } = documentPart(entry);
  const desk = make("div", "desk", "", { tabIndex: 0 });
  desk.setAttribute("aria-label", "Page");
  desk.setAttribute("role", "group");
  const note = make("p", "note", "", { hidden: true });
  const view = { desk, document, session: from.session, zoom: 0, pages: new Map(), last: Infinity,
    word: pageAndSheet(entry).includes("(sheet") ? "Sheet" : "Page" };
  const old = tab.view;
  tab.view = view;
  tab.replaceChildren(note, desk, zoomer(view));
  old?.stop();
  view.stop = watch(view);
  const first = entry.page ?? 1;
  const end = Math.min(entry.page_end ?? first, first + MOST_PAGES - 1);
  for (let number = first; number <= end; number += 1) add(view, number);
  ends(view);
  from.about(document).then((found) => {
    view.last = found.pages;
    for (const [number, sheet] of view.pages) for (const image of sheet.querySelectorAll("img")) image.alt = named(view, number);
    ends(view);
  }, () => {});
  try {
    const found = await marks(document, n, from);
    if (tab.view !== view) return;
    const all = [...found.boxes, ...found.quoted];
    for (const { page, rects, quoted } of all) lay(view, page, rects, quoted);
    note.hidden = all.some(({ rects }) => rects.length);
    note.textContent = "The passage could not be marked on this page.";
    bring(view);
  } catch (error) {
    if (tab.view !== view) return;
    if (error.status === 404) {
      view.stop();
      tab.replaceChildren(lost(error));
      return;
    }
    note.textContent = "The passage could not be marked on this page.";
    note.hidden = false;
  }
}

/** The passage's rectangles, and those of each quote. */
async function marks(document, n, { session, quotes: wanted }) {
  const quotes = await wanted;
  const asked = quotes.length ? quotes : [undefined];
  const found = await Promise.all(asked.map((quote) => chunk(document, n, session, { boxes: 1, quote })));
  const quoted = found.flatMap((each) => each.quote_boxes ?? []);
  return { boxes: found[0].boxes ?? [], quoted: quoted.map((each) => ({ ...each, quoted: true })) };
}

/** A page, in its place among those that are shown. */
function add(view, number) {
  const sheet = make("div", "sheet");
  sheet.style.aspectRatio = `1 / ${ratios.get(view.document) ?? 11 / 8.5}`;
  sheet.style.width = `${ZOOMS[view.zoom] * 100}%`;
  const next = [...view.pages].filter(([each]) => each > number).sort(([one], [other]) => one - other)[0];
  view.pages.set(number, sheet);
  if (next) next[1].before(sheet);
  else if (view.after) view.after.before(sheet);
  else view.desk.append(sheet);
  draw(view, number);
  return sheet;
}

const named = ({ word, last }, number) => `${word} ${number}${last < Infinity ? ` of ${last}` : ""}`;

/** The picture of a page, as sharp as the screen can show it. */
async function draw(view, number) {
  const sheet = view.pages.get(number);
  const width = (view.desk.clientWidth || 480) * ZOOMS[view.zoom] * devicePixelRatio;
  const scale = Math.min(MOST_SCALE, Math.ceil((width / POINTS) * 2) / 2); // few steps, so that they can be cached
  if (sheet.scale >= scale) return;
  sheet.scale = scale;
  if (!sheet.querySelector("img")) say(sheet, make("p", "", `Drawing ${view.word.toLowerCase()} ${number}…`));
  let source;
  try {
    source = await blob(address(`/api/documents/${view.document}/pages/${number}.webp`, { scale, session_id: view.session }));
    const image = make("img", "", "", { src: source, alt: named(view, number) });
    await image.decode();
    const ratio = image.naturalHeight / image.naturalWidth;
    ratios.set(view.document, ratio);
    sheet.style.aspectRatio = `1 / ${ratio}`;
    sheet.querySelector(".state")?.remove();
    sheet.querySelector("img")?.remove();
    sheet.prepend(image);
    bring(view);
  } catch (error) {
    sheet.scale = 0;
    if (sheet.querySelector("img")) return; // the less sharp one stays
    const text = error.status === 404 ? "This page is not stored any more." : `${view.word} ${number} could not be drawn. ${error.message ?? ""}`;
    say(sheet, make("p", "", text), error.status !== 404 && button("Try again", () => draw(view, number)));
  } finally {
    if (source) URL.revokeObjectURL(source);
  }
}

function say(sheet, ...children) {
  sheet.querySelector(".state")?.remove();
  sheet.append(box("div", "state", children));
}

function lay(view, number, rects, quoted) {
  const sheet = view.pages.get(number) ?? add(view, number);
  for (const [left, top, right, bottom] of rects) {
    const mark = make("div", quoted ? "spot quoted" : "spot");
    Object.assign(mark.style, {
      left: `${left * 100}%`, top: `${top * 100}%`, width: `${(right - left) * 100}%`, height: `${(bottom - top) * 100}%`,
    });
    sheet.append(mark);
  }
}

/** The first mark to where one reads, until the reader scrolls. */
function bring(view) {
  const spot = view.desk.querySelector(".spot.quoted") ?? view.desk.querySelector(".spot");
  if (view.moved || !spot) return;
  const { desk } = view;
  const below = spot.getBoundingClientRect().top - desk.getBoundingClientRect().top;
  desk.scrollTop += below - desk.clientHeight * HIGH;
}

/** Buttons for the pages before and after. */
function ends(view) {
  view.before?.remove();
  view.after?.remove();
  const [first, last] = [Math.min(...view.pages.keys()), Math.max(...view.pages.keys())];
  view.before = first > 1 ? pageButton(view, first - 1, "↑") : null;
  view.after = last < view.last ? pageButton(view, last + 1, "↓") : null;
  if (view.before) view.desk.prepend(view.before);
  if (view.after) view.desk.append(view.after);
}

function pageButton(view, number, arrow) {
  return button(`${arrow} ${view.word} ${number}`, () => {
    const { desk } = view;
    const height = desk.scrollHeight;
    view.moved = true;
    const sheet = add(view, number);
    if (arrow === "↑") desk.scrollTop += desk.scrollHeight - height;
    ends(view);
    if (arrow === "↑") desk.scrollTop -= desk.clientHeight * HIGH;
    else sheet.scrollIntoView({ block: "nearest" });
    (view[arrow === "↑" ? "before" : "after"] || desk).focus({ preventScroll: true });
  }, "quiet");
}

function zoomer(view) {
  const by = (step) => () => {
    const { desk } = view;
    const middle = (desk.scrollTop + desk.clientHeight / 2) / desk.scrollHeight;
    view.zoom = Math.max(0, Math.min(ZOOMS.length - 1, view.zoom + step));
    for (const [number, sheet] of view.pages) {
      sheet.style.width = `${ZOOMS[view.zoom] * 100}%`;
      draw(view, number);
    }
    desk.scrollTop = middle * desk.scrollHeight - desk.clientHeight / 2;
    desk.scrollLeft = (desk.scrollWidth - desk.clientWidth) / 2;
    out.disabled = !view.zoom;
    closer.disabled = view.zoom === ZOOMS.length - 1;
  };
  const out = button("−", by(-1), "icon", "Smaller");
  const closer = button("+", by(1), "icon", "Larger");
  out.disabled = true;
  return box("div", "zoom", [out, closer]);
}

/** Sharper pictures when the panel grows; whether the reader has scrolled. Returns what ends it. */
function watch(view) {
  const grown = new ResizeObserver(() => {
    for (const [number, sheet] of view.pages) if (sheet.scale) draw(view, number); // not what has failed
    bring(view);
  });
  grown.observe(view.desk);
  for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    view.desk.addEventListener(name, () => {
      view.moved = true;
    }, { passive: true });
  }
  return () => grown.disconnect();
}
