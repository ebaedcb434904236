/** How much a process logs: each level includes those behind it. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

export type LogLevelName = (typeof logLevels)[number];

export function isLogLevel(text: string): text is LogLevelName {
  return (logLevels as readonly string[]).includes(text);
}

/** The level of a running process. */
export interface LogLevelControl {
  get(): LogLevelName;
  /** Counts at once, for every part of the process, until it starts again. */
  set(level: LogLevelName): void;
}

/**
 * Sets it, and has a warning written about that on the side of the change where warnings are:
 * also a log that falls silent says why.
 */
export function changeLogLevel(control: LogLevelControl, level: LogLevelName, warn: () => void): void {
  if (level === 'error') warn();
  control.set(level);
  if (level !== 'error') warn();
}
