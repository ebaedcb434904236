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
