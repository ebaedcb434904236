import type { Command } from 'commander';

/** Adds one command to the program. */
export type Register = (program: Command) => void;

/** The headings of the help, in their order. */
export const groups = [
  'Start and stop Berth',
  'Create and change objects',
  'Look at objects',
  'Look after nodes',
  'Work with containers',
  'Operate and secure the cluster',
  'This program',
] as const;

/**
 * One command as it is known before its code is loaded: most of what a short command costs is loading code that it does
 * not run.
 */
export interface CommandEntry {
  readonly name: string;
  /** The command's own description, which a test compares: help and completion show it without loading the command. */
  readonly description: string;
  readonly group: (typeof groups)[number];
  readonly hidden?: boolean;
  /** Whether it has to know which others there are. */
  readonly seesOthers?: boolean;
  readonly load: () => Promise<Register>;
}
