import { box, make } from "./dom.js";
import { register } from "./router.js";

register("settings", (place) => {
  place.append(box("div", "page", [make("h1", "", "settings")]));
});
