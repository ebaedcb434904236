import { resolve } from 'node:path';

export const schedulerConfigHelp = "a file of the scheduler's profiles, and of modules with plugins of yours";

/** Where it is seen from here, whoever reads it later; empty: none. */
export function parseSchedulerConfig(text: string): string {
  return text === '' ? '' : resolve(text);
}
