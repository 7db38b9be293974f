// The conversation.

import { make } from "./dom.js";
import { register } from "./router.js";

register("c", (place, [session, answer, n]) => {
  place.append(make("p", "", `chat ${session} ${answer} ${n}`));
});
