// Files on their way: three at once, with progress, cancel and retry. The whole window takes drops.

/** Sends files; `session`: for this chat alone, else for all chats. */
export function upload(files, session = "") {}

/** The files that are being sent or read: [{id, name, stage, done, of, problem}]; "uploads" is told when they change. */
export const underway = () => [];
