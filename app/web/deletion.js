// Deletion that can be undone for a moment.

import { call } from "./api.js";
import { toast } from "./dom.js";

const waiting = new Set(); // what ends the wait of each deletion that can still be undone
const underway = new Set();

/** Delete now what could still be undone: what is asked or added next must not find it, or be deleted with it. */
export async function finish() {
  waiting.forEach((end) => end());
  await Promise.allSettled(underway);
}

/** Hidden at once (its id goes into `hidden`), deleted when nobody has undone it, or when the page is left:
 *  `undone` or `deleted` is called. */
export function remove({ id, hidden, text, address, deleted, draw, undone = () => {} }) {
  const back = () => {
    hidden.delete(id);
    draw();
  };
  hidden.add(id);
  draw();
  const end = toast(text, {
    undo() {
      waiting.delete(end);
      back();
      undone();
    },
    async gone() {
      waiting.delete(end);
      const work = call(address, { method: "DELETE", keepalive: true });
      underway.add(work);
      try {
        await work;
        deleted();
      } catch (error) {
        back();
        toast(error.message);
      } finally {
        underway.delete(work);
      }
    },
  });
  waiting.add(end);
}

addEventListener("pagehide", () => waiting.forEach((end) => end()));
