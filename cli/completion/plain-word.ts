/** Whether what may stand at a place depends on nothing that is typed of it: no flag, no list, no TYPE/NAME. */
export function isPlainWord(current: string): boolean {
  return /^(?:[A-Za-z0-9][\w.-]*)?$/.test(current);
}
