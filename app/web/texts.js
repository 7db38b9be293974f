import { box, make } from "./dom.js";
import { register } from "./router.js";

register("texts", (place) => {
  place.append(box("div", "page", [make("h1", "", "texts")]));
});
