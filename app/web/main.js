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
setUpRail();
setUpPanel();
start();
