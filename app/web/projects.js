import { box, make } from "./dom.js";
import { register } from "./router.js";

register("projects", (place) => {
  place.append(box("div", "page", [make("h1", "", "projects")]));
});
