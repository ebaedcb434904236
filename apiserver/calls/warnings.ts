const NONE: readonly string[] = [];

/** The warnings of a handler and those of its call, each once. */
export function joinWarnings(own: readonly string[] = NONE, more: readonly string[] = NONE): readonly string[] {
  return more.length === 0 ? own : [...new Set([...own, ...more])];
}
