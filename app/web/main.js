// The page's start: its parts register their views, or are fetched with their first use; the address decides what is shown.

import "./chat.js";
import "./find.js";
import "./settings.js";
import "./uploads.js";
import { setUp as setUpPanel } from "./panel.js";
import { setUp as setUpRail } from "./rail.js";
import { later, start } from "./router.js";

later("documents", () => import("./documents.js"));
later("memories", () => import("./memories.js"));
later("texts", () => import("./texts.js"));
later("projects", () => import("./projects.js"));
later("vantage", () => import("./vantage.js"));
/** Where a keyboard on the screen lies over the page, the page has what is left above it. */
visualViewport?.addEventListener("resize", () => {
  const { height, scale } = visualViewport;
  document.documentElement.style.setProperty("--seen", scale === 1 && height < innerHeight ? `${height}px` : "100%");
  if (scale === 1) scrollTo(0, 0);
});
setUpRail();
setUpPanel();
start();
