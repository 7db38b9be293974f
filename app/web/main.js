// The page's start: its parts register their views, then the address decides what is shown.

import "./chat.js";
import "./documents.js";
import "./memories.js";
import "./texts.js";
import "./projects.js";
import "./vantage.js";
import "./settings.js";
import "./find.js";
import "./uploads.js";
import { setUp as setUpPanel } from "./panel.js";
import { setUp as setUpRail } from "./rail.js";
import { start } from "./router.js";

setUpRail();
setUpPanel();
start();
