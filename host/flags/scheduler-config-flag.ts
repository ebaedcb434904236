import { resolve } from 'node:path';

export const schedulerConfigHelp = "a file of the scheduler's profiles, and of modules with plugins of yours";

/** An absolute path; empty: none. */
export function parseSchedulerConfig(text: string): string {
  return text === '' ? '' : resolve(text);
}
