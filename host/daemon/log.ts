import type { Logger } from 'pino';
import { isLogLevel, type LogLevelControl, type LogLevelName, logLevels } from '../../api/meta/log-level.ts';
import { openLogFile } from './log-file.ts';

export interface LogFlags {
  readonly logFile?: string;
  readonly logLevel: string;
}

/**
 * Logs as JSON lines, into the bounded file that --log-file names or to standard error, at a level that can be changed.
 */
export async function openLog(name: string, flags: LogFlags): Promise<{ logger: Logger; logLevel: LogLevelControl }> {
  const level = parseLevel(flags.logLevel);
  const { pino } = await import('pino');
  // A child has a level of its own from its birth on. They are the components of a process: few, and as old as it.
  const children: Logger[] = [];
  const options = { name, level, onChild: (child: Logger) => void children.push(child) };
  const logger: Logger = flags.logFile ? pino(options, openLogFile(flags.logFile)) : pino(options, process.stderr);
  const set = (next: LogLevelName): void => {
    for (const each of [logger, ...children]) each.level = next;
  };
  return { logger, logLevel: { get: () => logger.level as LogLevelName, set } };
}

function parseLevel(text: string): LogLevelName {
  if (!isLogLevel(text)) throw new Error(`--log-level "${text}" must be one of ${logLevels.join(', ')}`);
  return text;
}
