export const warmHelp =
  'how many sandboxes are made in advance while nothing else is done, so that pods start sooner; 0 for none';

/** A sandbox that waits takes a process and an address. */
const most = 64;

/** What is wrong with the value of `--warm-sandboxes`. */
export function warmError(text: string): string | undefined {
  return /^\d{1,9}$/.test(text) && Number(text) <= most ? undefined : `must be a whole number from 0 to ${most}`;
}
