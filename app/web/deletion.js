// Deletion that can be undone for a moment.

import { call } from "./api.js";
import { toast } from "./dom.js";

const waiting = new Set(); // what ends the wait of each deletion that can still be undone

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
      try {
        await call(address, { method: "DELETE", keepalive: true });
        deleted();
      } catch (error) {
        back();
        toast(error.message);
      }
    },
  });
  waiting.add(end);
}

addEventListener("pagehide", () => waiting.forEach((end) => end()));
