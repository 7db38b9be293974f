// What an empty chat shows.

/** Fills the empty conversation. */
export function fill(place) {}
